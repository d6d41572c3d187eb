/**
 * A region as a function, `region(firstThread, endThread) -> next`: what is the same for all
 * threads, then a loop over them. It returns the state that all its threads are in afterwards, or
 * `STATE_MIXED`; only where more than one state is possible does it store each thread's.
 *
 * The loop's body is a fragment of its own (`ThreadBody`), written first, since the rest computes
 * exactly what the body turns out to need. A body over a group of threads takes the same place.
 */
import type { Instruction, RegisterId } from "../../ir/types.ts";
import { Code } from "../../wasm/code.ts";
import type { FunctionType } from "../../wasm/value-type.ts";
import type { Analysis, AnalysedRegion } from "../analysis/analyse.ts";
import { readsOf, writesOf } from "../analysis/effects.ts";
import { STATE_MIXED, statesAfter } from "../analysis/regions.ts";
import { Emitter, type KernelContext } from "./emitter.ts";
import { emitInstruction } from "./instruction.ts";
import { loadRegister, ThreadBody } from "./thread-body.ts";

export const REGION_TYPE: FunctionType = { parameters: ["i32", "i32"], results: ["i32"] };

const FIRST_THREAD = 0;
const END_THREAD = 1;

/** No thread has finished yet. */
const STATE_NONE = -2;

/**
 * Blocks around a thread's body: the loop over threads, and what a finished thread branches out of.
 */
const BODY_DEPTH = 2;

export function regionFunction(
  context: KernelContext,
  analysis: Analysis,
  analysed: AnalysedRegion,
): Code {
  const code = new Code(REGION_TYPE.parameters);
  const emitter = new Emitter(context, code);
  const { index } = emitter.threadValues;
  const states = statesAfter(context.kernel, analysis.regions, analysed.region);
  const mixed = states.length > 1 ? { next: code.local("i32"), common: code.local("i32") } : null;

  emitter.code = code.fragment(BODY_DEPTH);
  const exit = { done: emitter.code.depth, next: mixed?.next ?? null };
  new ThreadBody(emitter, analysis, analysed, exit).write();
  const body = emitter.code;

  emitter.code = code.fragment(BODY_DEPTH);
  enterThread(emitter, analysis, analysed);
  const entry = emitter.code;

  emitter.code = code.fragment(0);
  computeInvariants(emitter, analysis);
  const invariants = emitter.code;

  if (mixed !== null) emitter.threadValues.local("context4");
  emitter.blockValues.write(code);
  code.append(invariants);
  code.get(FIRST_THREAD).set(index);
  emitter.threadValues.writeFirst(code);
  if (mixed !== null) code.i32(STATE_NONE).set(mixed.common);
  const again = code.loop();
  emitter.threadValues.writeEach(code);
  code.block();
  code.append(entry).append(body).end();
  emitter.code = code;
  if (mixed !== null) noteState(emitter, analysis, mixed);
  emitter.threadValues.writeNext(code);
  code.get(index).get(END_THREAD).op("i32.lt_u").branchIf(again).end();
  if (mixed === null) code.i32(states[0] ?? 0);
  else code.get(mixed.common);
  return code;
}

/** Gives the registers that live where the region begins their values, as far as it uses them. */
function enterThread(
  emitter: Emitter,
  { live, context, invariants }: Analysis,
  { region }: AnalysedRegion,
): void {
  const used = new Set(emitter.registers());
  for (const id of live.liveIn[region.entry]?.members() ?? []) {
    if (!used.has(id) || invariants.registers.has(id)) continue;
    const slot = context.slots.get(id);
    // A register that is read before anything is written to it reads as zero.
    if (region.isKernelEntry) zeroRegister(emitter, id);
    else if (slot !== undefined) loadRegister(emitter, id, slot);
  }
}

function zeroRegister(emitter: Emitter, id: RegisterId): void {
  const { code } = emitter;
  const { local } = emitter.storageOf(id);
  if (local === "f32") code.f32(0);
  else if (local === "f64") code.f64(0);
  else if (local === "i64") code.i64(0);
  else code.i32(0);
  code.set(emitter.register(id));
}

/** Computes the block invariants that the body used, and what they need in turn. */
function computeInvariants(emitter: Emitter, { invariants }: Analysis): void {
  const needed = new Set<RegisterId>(emitter.registers());
  const chosen: Instruction[] = [];
  for (const instruction of invariants.instructions.toReversed()) {
    if (!writesOf(instruction).some((id) => needed.has(id))) continue;
    chosen.push(instruction);
    for (const id of readsOf(instruction)) needed.add(id);
  }
  for (const instruction of chosen.reverse()) emitInstruction(emitter, instruction);
}

/** Stores a finished thread's state and folds it into what all have in common. */
function noteState(
  emitter: Emitter,
  { context }: Analysis,
  { next, common }: { readonly next: number; readonly common: number },
): void {
  const { code, threadValues } = emitter;
  code.get(threadValues.local("context4")).get(next).memory("i32.store", context.stateOffset);
  code.get(next);
  code.get(common).i32(STATE_MIXED).get(common).get(next).ops("i32.eq", "select");
  code.get(common).i32(STATE_NONE).ops("i32.eq", "select").set(common);
}
