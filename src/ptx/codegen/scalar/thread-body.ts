/** What one thread does in a region: the structured control flow with its instructions. */
import { invariant } from "../../../base/mod.ts";
import { FAULT_CODE } from "../../abi.ts";
import type { BlockId, RegisterId } from "../../ir/types.ts";
import type { Label } from "../../wasm/code.ts";
import type { Analysis, AnalysedRegion } from "../analysis/analyse.ts";
import { writesOf } from "../analysis/effects.ts";
import { blockAt, resumeState, STATE_EXITED } from "../analysis/regions.ts";
import type { Structure, StructureNode } from "../analysis/structure.ts";
import type { Emitter } from "./emitter.ts";
import { emitInstruction } from "./instruction.ts";

/** How a thread's run through a region ends. */
export type ThreadExit = {
  /** Where to branch once the thread is done. */
  readonly done: Label;
  /** The local that takes the thread's next state; null where there is only one possibility. */
  readonly next: number | null;
};

export class ThreadBody {
  readonly #emitter: Emitter;
  readonly #analysis: Analysis;
  readonly #analysed: AnalysedRegion;
  readonly #exit: ThreadExit;
  /** Registers that the region may change. */
  readonly #changed: ReadonlySet<RegisterId>;
  /** Where a jump to a block goes: to the end of a `forward`, or to the start of a `loop`. */
  readonly #forwards = new Map<BlockId, Label>();
  readonly #loops = new Map<BlockId, Label>();
  /** The local that holds the chosen arm of a dispatch. */
  #arm: number | null = null;

  constructor(emitter: Emitter, analysis: Analysis, analysed: AnalysedRegion, exit: ThreadExit) {
    this.#emitter = emitter;
    this.#analysis = analysis;
    this.#analysed = analysed;
    this.#exit = exit;
    this.#changed = new Set(
      analysed.region.order.flatMap((id) =>
        blockAt(emitter.kernel, id).instructions.flatMap(writesOf),
      ),
    );
  }

  /** Writes the body; every way through it branches to `done`. */
  write(): void {
    this.#nodes(this.#analysed.structure);
    this.#emitter.code.op("unreachable");
  }

  #nodes(nodes: Structure): void {
    for (const node of nodes) this.#node(node);
  }

  #node(node: StructureNode): void {
    const { code } = this.#emitter;
    switch (node.kind) {
      case "code":
        this.#instructions(node.block);
        return;
      case "branch": {
        const { terminator } = blockAt(this.#emitter.kernel, node.block);
        invariant(terminator.kind === "branch", `block ${node.block} ends in a branch`);
        this.#emitter.predicate(terminator.predicate).if();
        this.#nodes(node.onTrue);
        code.else();
        this.#nodes(node.onFalse);
        code.end();
        return;
      }
      case "leave":
        this.#leave(node.block);
        return;
      case "forward":
        this.#forwards.set(node.target, code.block());
        this.#nodes(node.body);
        code.end();
        return;
      case "loop":
        this.#loops.set(node.target, code.loop());
        this.#nodes(node.body);
        code.end();
        return;
      case "jump": {
        const label = (node.isBackward ? this.#loops : this.#forwards).get(node.target);
        invariant(label !== undefined, `a jump to block ${node.target} is inside its label`);
        code.branch(label);
        return;
      }
      case "dispatch":
        this.#dispatch(node.arms);
        return;
      case "choose":
        invariant(this.#arm !== null, "an arm is chosen inside a dispatch");
        code.i32(node.arm).set(this.#arm);
    }
  }

  #instructions(id: BlockId): void {
    const { kernel } = this.#emitter;
    const isInvariant = (register: RegisterId): boolean =>
      this.#analysis.invariants.registers.has(register);
    for (const instruction of blockAt(kernel, id).instructions) {
      const writes = writesOf(instruction);
      if (writes.length > 0 && writes.every(isInvariant)) continue;
      emitInstruction(this.#emitter, instruction);
    }
  }

  #leave(id: BlockId): void {
    const { code, kernel } = this.#emitter;
    const { terminator } = blockAt(kernel, id);
    const { done, next } = this.#exit;
    if (terminator.kind === "trap") {
      const { line, column } = terminator.position;
      code.i32(FAULT_CODE.illegalInstruction).i64(0).i32(0);
      code.get(this.#emitter.threadValues.index).i32(line).i32(column);
      this.#emitter.call("fault").op("unreachable");
      return;
    }
    let state = STATE_EXITED;
    if (terminator.kind === "barrier") {
      this.#save(terminator.resume);
      state = resumeState(this.#analysis.regions, terminator.resume);
    }
    if (next !== null) code.i32(state).set(next);
    code.branch(done);
  }

  /** Stores what the thread needs after the barrier and the region may have changed. */
  #save(resume: BlockId): void {
    const { isKernelEntry } = this.#analysed.region;
    for (const id of this.#analysis.live.liveIn[resume]?.members() ?? []) {
      const slot = this.#analysis.context.slots.get(id);
      if (slot === undefined) continue;
      if (this.#changed.has(id) || isKernelEntry) storeRegister(this.#emitter, id, slot);
    }
  }

  #dispatch(arms: readonly Structure[]): void {
    const { code } = this.#emitter;
    const arm = code.local("i32");
    this.#arm = arm;
    code.i32(0).set(arm);
    const again = code.loop();
    const labels = arms.map(() => code.block()).reverse();
    const last = labels.at(-1);
    invariant(last !== undefined, "a region has a block");
    code.get(arm).branchTable(labels.slice(0, -1), last);
    for (const nodes of arms) {
      code.end();
      this.#nodes(nodes);
      code.branch(again);
    }
    code.end();
  }
}

const SLOT_ACCESS = {
  i32: { base: "context4", load: "i32.load", store: "i32.store" },
  f32: { base: "context4", load: "f32.load", store: "f32.store" },
  i64: { base: "context8", load: "i64.load", store: "i64.store" },
  f64: { base: "context8", load: "f64.load", store: "f64.store" },
} as const;

function slotAccess(
  emitter: Emitter,
  id: RegisterId,
): (typeof SLOT_ACCESS)["i32" | "i64" | "f32" | "f64"] {
  const { local } = emitter.storageOf(id);
  invariant(local !== "v128", "a scalar register is no vector");
  return SLOT_ACCESS[local];
}

function storeRegister(emitter: Emitter, id: RegisterId, slot: number): void {
  const { base, store } = slotAccess(emitter, id);
  emitter.code.get(emitter.threadValues.local(base)).get(emitter.register(id));
  emitter.code.memory(store, slot);
}

/** Loads a register from the thread's context. */
export function loadRegister(emitter: Emitter, id: RegisterId, slot: number): void {
  const { base, load } = slotAccess(emitter, id);
  emitter.code.get(emitter.threadValues.local(base)).memory(load, slot);
  emitter.code.set(emitter.register(id));
}
