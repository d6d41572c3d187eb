/** All analyses of a kernel, in order. */
import type { Kernel } from "../../ir/types.ts";
import { contextLayout, type ContextLayout } from "./context.ts";
import { definitions } from "./definitions.ts";
import { flowGraph, type FlowGraph } from "./dominators.ts";
import { invariants, type Invariants } from "./invariants.ts";
import { liveness, type Liveness } from "./liveness.ts";
import { regions, type Region } from "./regions.ts";
import { storage, type Storage } from "./storage.ts";
import { structure, type Structure } from "./structure.ts";

/** A region with its control flow. */
export type AnalysedRegion = {
  readonly region: Region;
  readonly graph: FlowGraph;
  readonly structure: Structure;
};

/** Everything that code generation knows about a kernel. */
export type Analysis = {
  readonly regions: readonly Region[];
  readonly analysed: readonly AnalysedRegion[];
  readonly live: Liveness;
  readonly storage: Storage;
  readonly invariants: Invariants;
  readonly context: ContextLayout;
};

export function analyse(kernel: Kernel): Analysis {
  const found = definitions(kernel);
  const live = liveness(kernel);
  const all = regions(kernel);
  const analysed = all.map((region) => {
    const graph = flowGraph(kernel, region);
    return { region, graph, structure: structure(kernel, region, graph) };
  });
  const held = storage(kernel, found);
  const steady = invariants(kernel, found, (id) => live.liveIn[0]?.has(id) ?? false);
  const inputs = { regions: all, live, invariants: steady, storage: held };
  const context = contextLayout(kernel, inputs);
  return { ...inputs, analysed, context };
}
