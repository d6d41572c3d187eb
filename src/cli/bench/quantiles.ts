import { invariant } from "../../base/mod.ts";

/** What is told of many measurements of one thing. */
export type Quantiles = {
  readonly count: number;
  readonly min: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
};

/** Each is a value that was measured (nearest rank), never one in between. */
export function quantilesOf(values: readonly number[]): Quantiles {
  invariant(values.length > 0, "something was measured");
  const sorted = [...values].sort((left, right) => left - right);
  const rank = (share: number): number =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return {
    count: sorted.length,
    min: rank(0),
    p50: rank(0.5),
    p95: rank(0.95),
    p99: rank(0.99),
    max: rank(1),
  };
}
