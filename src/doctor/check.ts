import type { Facts } from "./facts.ts";
import type { Finding } from "./finding.ts";

/**
 * A check: what it looks at, and what it can find. `scope` says when it is worth running: `machine`
 * always; `gpu` where a GPU is to be used; `slot` where the dies are behind a `bar_swap` window.
 */
export type Check = {
  readonly id: string;
  readonly title: string;
  readonly scope: "machine" | "gpu" | "slot";
  /** The ids of all findings that it can make. */
  readonly findings: readonly string[];
  /** Pure: says of the same facts always the same. */
  readonly run: (facts: Facts) => readonly Finding[];
};
