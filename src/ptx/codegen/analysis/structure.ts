/**
 * Structured control flow of a region: wasm has blocks, loops and branches out of them, and no
 * goto.
 *
 * A reducible region is translated by its dominator tree (Ramsey, "Beyond Relooper", ICFP 2022): a
 * merge node follows the block that its immediate dominator opens for it, a loop header opens a
 * loop. An irreducible region becomes one loop around a table of its blocks.
 */
import { invariant } from "../../../base/mod.ts";
import type { BlockId, Kernel, Terminator } from "../../ir/types.ts";
import type { FlowGraph } from "./dominators.ts";
import { blockAt, type Region } from "./regions.ts";

export type StructureNode =
  /** The instructions of a block, without its terminator. */
  | { readonly kind: "code"; readonly block: BlockId }
  /** The two ways of a block's `branch`. */
  | {
      readonly kind: "branch";
      readonly block: BlockId;
      readonly onTrue: Structure;
      readonly onFalse: Structure;
    }
  /** The terminator of a block ends the region: barrier, exit or trap. */
  | { readonly kind: "leave"; readonly block: BlockId }
  /** A jump to `target` from inside the body goes to its end. */
  | { readonly kind: "forward"; readonly target: BlockId; readonly body: Structure }
  /** A jump to `target` from inside the body goes to its beginning. */
  | { readonly kind: "loop"; readonly target: BlockId; readonly body: Structure }
  | { readonly kind: "jump"; readonly target: BlockId; readonly isBackward: boolean }
  /** Runs the arm that is chosen, the first one to begin with, until an arm leaves. */
  | { readonly kind: "dispatch"; readonly arms: readonly Structure[] }
  /** Chooses the dispatch's next arm. */
  | { readonly kind: "choose"; readonly arm: number };

/** Nodes one after the other. */
export type Structure = readonly StructureNode[];

/** Translates a block's terminator, given how a jump to a block is made. */
function terminate(
  id: BlockId,
  terminator: Terminator,
  goTo: (target: BlockId) => Structure,
): Structure {
  switch (terminator.kind) {
    case "jump":
      return goTo(terminator.target);
    case "branch":
      return [
        {
          kind: "branch",
          block: id,
          onTrue: goTo(terminator.onTrue),
          onFalse: goTo(terminator.onFalse),
        },
      ];
    case "barrier":
    case "exit":
    case "trap":
      return [{ kind: "leave", block: id }];
  }
}

function fromDominatorTree(kernel: Kernel, graph: FlowGraph): Structure {
  const positionOf = (id: BlockId): number => {
    const position = graph.position.get(id);
    invariant(position !== undefined, `block ${id} is in the region`);
    return position;
  };

  const subtree = (id: BlockId): Structure => {
    const merges = (graph.children.get(id) ?? []).filter((child) => graph.mergeNodes.has(child));
    const body = within(id, merges);
    return graph.loopHeaders.has(id) ? [{ kind: "loop", target: id, body }] : body;
  };

  // Wraps the block in one `forward` for each merge node it dominates; the merge node that comes
  // last in reverse postorder is the outermost, so that earlier ones can still jump to it.
  const within = (id: BlockId, merges: readonly BlockId[]): Structure => {
    const [outermost, ...others] = merges;
    if (outermost !== undefined) {
      const body = within(id, others);
      return [{ kind: "forward", target: outermost, body }, ...subtree(outermost)];
    }
    const { terminator } = blockAt(kernel, id);
    const goTo = (target: BlockId): Structure => {
      const isBackward = positionOf(target) <= positionOf(id);
      if (isBackward || graph.mergeNodes.has(target)) return [{ kind: "jump", target, isBackward }];
      return subtree(target);
    };
    return [{ kind: "code", block: id }, ...terminate(id, terminator, goTo)];
  };

  return subtree(graph.entry);
}

function asDispatch(kernel: Kernel, { order }: Region): Structure {
  const armOf = new Map(order.map((id, arm) => [id, arm]));
  const arms = order.map((id): Structure => {
    const goTo = (target: BlockId): Structure => {
      const arm = armOf.get(target);
      invariant(arm !== undefined, `block ${target} is in the region`);
      return [{ kind: "choose", arm }];
    };
    const { terminator } = blockAt(kernel, id);
    return [{ kind: "code", block: id }, ...terminate(id, terminator, goTo)];
  });
  return [{ kind: "dispatch", arms }];
}

/**
 * Dominator trees deeper than this go through the dispatch loop: the translation recurses along the
 * tree, and wasm engines limit how deep blocks nest.
 */
const DOMINATOR_DEPTH_MAX = 400;

function depthOf(graph: FlowGraph): number {
  let deepest = 0;
  const pending: [BlockId, number][] = [[graph.entry, 1]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [id, depth] = next;
    deepest = Math.max(deepest, depth);
    for (const child of graph.children.get(id) ?? []) pending.push([child, depth + 1]);
  }
  return deepest;
}

export function structure(kernel: Kernel, region: Region, graph: FlowGraph): Structure {
  return graph.isReducible && depthOf(graph) <= DOMINATOR_DEPTH_MAX
    ? fromDominatorTree(kernel, graph)
    : asDispatch(kernel, region);
}
