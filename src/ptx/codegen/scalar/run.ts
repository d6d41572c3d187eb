/**
 * The exported `run`: blocks one after the other, each region by region. While all threads of a
 * block go on in the same region, that region's function runs them all. Where they do not, the
 * scheduler runs each stretch of neighbouring threads in the same state.
 *
 * A region ends at a barrier or at the end of a thread, so that once every thread has run its own,
 * all that have not exited wait: the barrier is passed, whichever bar.sync each of them waits at.
 */
import { LAUNCH } from "../../abi.ts";
import { Code } from "../../wasm/code.ts";
import type { FunctionType } from "../../wasm/value-type.ts";
import { STATE_ENTRY, STATE_EXITED, STATE_MIXED } from "../analysis/regions.ts";
import { GLOBAL } from "./globals.ts";

export const RUN_TYPE: FunctionType = {
  parameters: ["i32", "i32", "i32", "i32"],
  results: [],
};

/** (state, firstThread, endThread) -> next */
export const DISPATCH_TYPE: FunctionType = {
  parameters: ["i32", "i32", "i32"],
  results: ["i32"],
};

/** Calls the region of a state; `regions` are function indexes, from `STATE_ENTRY` up. */
export function dispatchFunction(regions: readonly number[]): Code {
  const code = new Code(DISPATCH_TYPE.parameters);
  const other = code.block();
  const labels = regions.map(() => code.block()).reverse();
  code.get(0).i32(STATE_ENTRY).op("i32.sub").branchTable(labels, other);
  for (const region of regions) code.end().get(1).get(2).call(region).op("return");
  code.end().op("unreachable");
  return code;
}

/** (threads) -> the state that all threads of the block are in, `STATE_EXITED` at the latest. */
export const SCHEDULE_TYPE: FunctionType = { parameters: ["i32"], results: ["i32"] };

/** Runs the threads of a block, whose states are in memory, until they are all in the same. */
export function scheduleFunction(dispatch: number, stateOffset: number): Code {
  const code = new Code(SCHEDULE_TYPE.parameters);
  const threads = 0;
  const [thread, end] = [code.local("i32"), code.local("i32")];
  const [state, next, common] = [code.local("i32"), code.local("i32"), code.local("i32")];
  const loadState = (local: number): Code =>
    code
      .getGlobal(GLOBAL.scratch)
      .get(local)
      .i32(2)
      .ops("i32.shl", "i32.add")
      .memory("i32.load", stateOffset);

  const round = code.loop();
  code.i32(0).set(thread);
  const stretch = code.loop();
  // The stretch: from `thread` to the first thread in another state.
  loadState(thread).set(state).get(thread).set(end);
  const grow = code.loop();
  code.get(end).i32(1).op("i32.add").tee(end).get(threads).op("i32.lt_u").if();
  loadState(end).get(state).op("i32.eq").branchIf(grow).end().end();
  code.get(state).i32(STATE_EXITED).op("i32.ne").if();
  code.get(state).get(thread).get(end).call(dispatch).tee(next).i32(STATE_MIXED).op("i32.ne").if();
  storeStates(code, { thread, end, next, stateOffset });
  code.end().end();
  code.get(end).tee(thread).get(threads).op("i32.lt_u").branchIf(stretch).end();

  // All in the first thread's state, or another round.
  code.i32(0).tee(thread).set(end);
  loadState(thread).set(common);
  const compare = code.loop();
  loadState(thread).get(common).op("i32.ne").branchIf(round);
  code.get(thread).i32(1).op("i32.add").tee(thread).get(threads).op("i32.lt_u").branchIf(compare);
  code.end().end().get(common);
  return code;
}

type Stretch = {
  readonly thread: number;
  readonly end: number;
  readonly next: number;
  readonly stateOffset: number;
};

/** A region that leaves all its threads in one state does not store it for each of them. */
function storeStates(code: Code, { thread, end, next, stateOffset }: Stretch): void {
  const fill = code.loop();
  code.getGlobal(GLOBAL.scratch).get(thread).i32(2).ops("i32.shl", "i32.add");
  code.get(next).memory("i32.store", stateOffset);
  code.get(thread).i32(1).op("i32.add").tee(thread).get(end).op("i32.lt_u").branchIf(fill).end();
}

/**
 * Zeroes the block's shared and local memory. CUDA leaves them undefined; here what a block finds
 * must not depend on which blocks its worker ran before.
 */
function clearMemory(code: Code, launch: number, scratch: number, localBytes: number): void {
  const push = (offset: number): Code => code.get(launch).memory("i32.load", offset);
  code.get(scratch);
  push(LAUNCH.sharedOffset).op("i32.add").i32(0);
  push(LAUNCH.sharedBytes).memoryFill();
  if (localBytes === 0) return;
  code.get(scratch);
  push(LAUNCH.localOffset).op("i32.add").i32(0);
  push(LAUNCH.threads).i32(localBytes).op("i32.mul").memoryFill();
}

/** What `run` is made for. */
export type RunParts = {
  /** Of one thread. */
  readonly localBytes: number;
  /** Of type `DISPATCH_TYPE`. */
  readonly dispatch: number;
  /** Of type `SCHEDULE_TYPE`; null where threads of a block never disagree. */
  readonly schedule: number | null;
};

export function runFunction({ localBytes, dispatch, schedule }: RunParts): Code {
  const code = new Code(RUN_TYPE.parameters);
  const [launch, scratch, block, end] = [0, 1, 2, 3];
  const [state, threads, row] = [code.local("i32"), code.local("i32"), code.local("i32")];
  code.get(launch).setGlobal(GLOBAL.launch).get(scratch).setGlobal(GLOBAL.scratch);
  code.get(launch).memory("i32.load", LAUNCH.threads).set(threads);
  const done = code.block();
  const nextBlock = code.loop();
  code.get(block).get(end).op("i32.ge_u").branchIf(done);
  code.get(block).setGlobal(GLOBAL.block);
  const extent = (offset: number): Code => code.get(launch).memory("i32.load", offset);
  code.get(block);
  extent(LAUNCH.gridX).op("i32.rem_u").setGlobal(GLOBAL.blockX).get(block);
  extent(LAUNCH.gridX).op("i32.div_u").tee(row);
  extent(LAUNCH.gridY).op("i32.rem_u").setGlobal(GLOBAL.blockY).get(row);
  extent(LAUNCH.gridY).op("i32.div_u").setGlobal(GLOBAL.blockZ);
  clearMemory(code, launch, scratch, localBytes);
  code.i32(STATE_ENTRY).set(state);
  const nextRegion = code.loop();
  code.get(state).i32(0).get(threads).call(dispatch).tee(state);
  if (schedule !== null) {
    code.i32(STATE_MIXED).op("i32.eq").if();
    code.get(threads).call(schedule).set(state).end().get(state);
  }
  code.branchIf(nextRegion).end();
  code.get(block).i32(1).op("i32.add").set(block).branch(nextBlock).end().end();
  return code;
}
