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
  const entries = new Set<BlockId>([0]);
  for (const { terminator } of kernel.blocks) {
    if (terminator.kind === "barrier") entries.add(terminator.resume);
  }
  return [...entries].map((entry, index) => ({
    state: STATE_ENTRY + index,
    entry,
    order: reversePostorder(kernel, entry),
  }));
}
