/** The results of the analyses as text, for whoever looks into the compiler. */
import type { Kernel, RegisterId } from "../ir/types.ts";
import type { Analysis } from "./analysis/analyse.ts";
import type { FlowGraph } from "./analysis/dominators.ts";
import type { Structure, StructureNode } from "./analysis/structure.ts";

const names = (kernel: Kernel, ids: Iterable<RegisterId>): string =>
  [...ids].map((id) => kernel.registers[id]?.name ?? `?${id}`).join(" ");

/** Hands the text of each pass to `take`, in the order of the passes. */
export function printAnalysis(
  kernel: Kernel,
  analysis: Analysis,
  take: (pass: string, text: string) => void,
): void {
  const { live, regions, analysed, storage, invariants, context } = analysis;
  const lines = (items: Iterable<string>): string => [...items].join("\n");
  take("liveness", lines(live.liveIn.map((set, id) => `${id}: ${names(kernel, set.members())}`)));
  take("regions", lines(regions.map(({ state, order }) => `${state}: ${order.join(" ")}`)));
  take("dominators", lines(analysed.map(({ graph }) => printGraph(graph))));
  take("structure", lines(analysed.map((region) => printStructure(region.structure))));
  take(
    "storage",
    lines(
      storage.map(
        ({ local, isLax }, id) => `${names(kernel, [id])}: ${local}${isLax ? " lax" : ""}`,
      ),
    ),
  );
  take("invariants", names(kernel, invariants.registers));
  take(
    "context",
    lines([...context.slots].map(([id, offset]) => `${names(kernel, [id])}: ${offset}`)),
  );
}

/** One line: entry, the tree's edges, loop headers and merge nodes. */
export function printGraph(graph: FlowGraph): string {
  const edges = [...graph.children].flatMap(([id, children]) =>
    children.toReversed().map((child) => `${id}>${child}`),
  );
  const kind = graph.isReducible ? "reducible" : "irreducible";
  const [loops, merges] = [graph.loopHeaders, graph.mergeNodes].map((set) => [...set].sort());
  return (
    `entry ${graph.entry}, ${kind}, tree ${edges.join(" ")}, ` +
    `loops ${loops?.join(" ") ?? ""}, merges ${merges?.join(" ") ?? ""}`
  );
}

/** The structure as nested text: `loop 1 { 1 if { leave 3 } else { ^1 } }`. */
export function printStructure(structure: Structure): string {
  return structure.map(printNode).join(" ");
}

function printNode(node: StructureNode): string {
  switch (node.kind) {
    case "code":
      return `${node.block}`;
    case "branch":
      return `if { ${printStructure(node.onTrue)} } else { ${printStructure(node.onFalse)} }`;
    case "leave":
      return `leave ${node.block}`;
    case "forward":
      return `forward ${node.target} { ${printStructure(node.body)} }`;
    case "loop":
      return `loop ${node.target} { ${printStructure(node.body)} }`;
    case "jump":
      return `${node.isBackward ? "^" : "v"}${node.target}`;
    case "dispatch":
      return `dispatch { ${node.arms.map(printStructure).join(" | ")} }`;
    case "choose":
      return `choose ${node.arm}`;
  }
}
