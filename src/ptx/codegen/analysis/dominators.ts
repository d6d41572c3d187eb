/**
 * The dominator tree of a region, by the iterative algorithm of Cooper, Harvey and Kennedy, with
 * the loop headers and merge nodes that structured control flow needs.
 */
import { invariant } from "../../../base/mod.ts";
import type { BlockId, Kernel } from "../../ir/types.ts";
import { blockAt, type Region } from "./regions.ts";
import { regionSuccessorsOf } from "./successors.ts";

export type FlowGraph = {
  readonly entry: BlockId;
  /** Position of each block in reverse postorder. */
  readonly position: ReadonlyMap<BlockId, number>;
  /** Blocks that each block immediately dominates, the last in reverse postorder first. */
  readonly children: ReadonlyMap<BlockId, readonly BlockId[]>;
  /** Targets of a backward edge. */
  readonly loopHeaders: ReadonlySet<BlockId>;
  /** Targets of two or more forward edges. */
  readonly mergeNodes: ReadonlySet<BlockId>;
  /** Every backward edge goes to a dominator of its source. */
  readonly isReducible: boolean;
};

type Predecessors = ReadonlyMap<BlockId, readonly BlockId[]>;

function predecessorsIn(kernel: Kernel, order: readonly BlockId[]): Predecessors {
  const predecessors = new Map<BlockId, BlockId[]>(order.map((id) => [id, []]));
  for (const id of order) {
    for (const successor of regionSuccessorsOf(blockAt(kernel, id).terminator)) {
      predecessors.get(successor)?.push(id);
    }
  }
  return predecessors;
}

/** Immediate dominators, as positions in reverse postorder; the entry dominates itself. */
function immediateDominators(
  order: readonly BlockId[],
  position: ReadonlyMap<BlockId, number>,
  predecessors: Predecessors,
): Int32Array {
  const dominators = new Int32Array(order.length).fill(-1);
  dominators[0] = 0;
  const intersect = (first: number, second: number): number => {
    let [left, right] = [first, second];
    while (left !== right) {
      while (left > right) left = dominators[left] ?? 0;
      while (right > left) right = dominators[right] ?? 0;
    }
    return left;
  };
  for (let changed = true; changed;) {
    changed = false;
    for (let index = 1; index < order.length; index += 1) {
      let dominator = -1;
      for (const id of predecessors.get(order[index] ?? 0) ?? []) {
        const at = position.get(id) ?? 0;
        if (dominators[at] === -1) continue;
        dominator = dominator === -1 ? at : intersect(dominator, at);
      }
      if (dominators[index] !== dominator) changed = true;
      dominators[index] = dominator;
    }
  }
  return dominators;
}

export function flowGraph(kernel: Kernel, { entry, order }: Region): FlowGraph {
  const position = new Map(order.map((id, index) => [id, index]));
  const predecessors = predecessorsIn(kernel, order);
  const dominators = immediateDominators(order, position, predecessors);
  const dominates = (ancestor: number, descendant: number): boolean => {
    let at = descendant;
    while (at > ancestor) at = dominators[at] ?? 0;
    return at === ancestor;
  };
  const children = new Map<BlockId, BlockId[]>(order.map((id) => [id, []]));
  const [loopHeaders, mergeNodes] = [new Set<BlockId>(), new Set<BlockId>()];
  let isReducible = true;
  for (let index = order.length - 1; index >= 0; index -= 1) {
    const id = order[index];
    invariant(id !== undefined, "the order has no holes");
    if (index > 0) children.get(order[dominators[index] ?? 0] ?? entry)?.push(id);
    let forward = 0;
    for (const predecessor of predecessors.get(id) ?? []) {
      const from = position.get(predecessor) ?? 0;
      if (from < index) {
        forward += 1;
        continue;
      }
      loopHeaders.add(id);
      if (!dominates(index, from)) isReducible = false;
    }
    if (forward > 1) mergeNodes.add(id);
  }
  return { entry, position, children, loopHeaders, mergeNodes, isReducible };
}
