/**
 * Barrier regions: what a thread does between two barriers. A region begins where threads begin or
 * where one resumes after a barrier, and holds every block that is reached from there without
 * crossing a barrier. A block may belong to several regions.
 */
import { invariant } from "../../../base/mod.ts";
import type { BasicBlock, BlockId, Kernel } from "../../ir/types.ts";
import { regionSuccessorsOf } from "./successors.ts";

export type Region = {
  /** A thread's state says which region it runs next, by this number; 0 is reserved for exited. */
  readonly state: number;
  /** Threads begin here: their registers are zero, and there is nothing to load. */
  readonly isKernelEntry: boolean;
  readonly entry: BlockId;
  /** The region's blocks in reverse postorder; the entry is the first. */
  readonly order: readonly BlockId[];
};

/** A thread that has exited is in this state. */
export const STATE_EXITED = 0;

/** What a region returns when its threads do not go on in the same one. */
export const STATE_MIXED = -1;

/** Threads begin in this region. */
export const STATE_ENTRY = 1;

export function blockAt(kernel: Kernel, id: BlockId): BasicBlock {
  const block = kernel.blocks[id];
  invariant(block !== undefined, `${kernel.name} has a block ${id}`);
  return block;
}

/** The blocks reached from `entry` within its region, each after all its forward predecessors. */
export function reversePostorder(kernel: Kernel, entry: BlockId): readonly BlockId[] {
  const postorder: BlockId[] = [];
  const seen = new Set<BlockId>([entry]);
  // A frame is a block and how many of its successors were visited: no recursion, since long
  // kernels have thousands of blocks in a row.
  const frames: { id: BlockId; visited: number }[] = [{ id: entry, visited: 0 }];
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    const successor = regionSuccessorsOf(blockAt(kernel, frame.id).terminator)[frame.visited];
    frame.visited += 1;
    if (successor === undefined) {
      postorder.push(frame.id);
      frames.pop();
    } else if (!seen.has(successor)) {
      seen.add(successor);
      frames.push({ id: successor, visited: 0 });
    }
  }
  return postorder.reverse();
}

/** The regions by state, from `STATE_ENTRY` up without gaps. */
export function regions(kernel: Kernel): readonly Region[] {
  const resumes = new Set<BlockId>();
  for (const { terminator } of kernel.blocks) {
    if (terminator.kind === "barrier") resumes.add(terminator.resume);
  }
  // A barrier may resume in block 0 too; threads that begin there are another matter.
  return [0, ...resumes].map((entry, index) => ({
    state: STATE_ENTRY + index,
    isKernelEntry: index === 0,
    entry,
    order: reversePostorder(kernel, entry),
  }));
}

/** The states that threads may be in once they have run a region, from the smallest up. */
export function statesAfter(kernel: Kernel, all: readonly Region[], region: Region): number[] {
  const states = new Set<number>();
  for (const id of region.order) {
    const { terminator } = blockAt(kernel, id);
    if (terminator.kind === "exit") states.add(STATE_EXITED);
    if (terminator.kind === "barrier") states.add(resumeState(all, terminator.resume));
  }
  return [...states].sort((left, right) => left - right);
}

/** The state of a thread that waits at a barrier to go on in a block. */
export function resumeState(all: readonly Region[], resume: BlockId): number {
  const region = all.find(({ entry, isKernelEntry }) => entry === resume && !isKernelEntry);
  invariant(region !== undefined, `a region begins at block ${resume}`);
  return region.state;
}
