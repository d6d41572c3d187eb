/** How long moves of a window took: the latest ones are kept, all are counted. */
import type { SwapTimes } from "./reports.ts";

/** Enough for a 99th percentile, and bounded however long an owner runs. */
export const SWAPS_KEPT_MAX = 1024;

type Swap = { readonly ms: number; readonly atMs: number };

export class SwapLog {
  /** A ring once it is full. */
  readonly #kept: Swap[] = [];
  #count = 0;

  /** A move that took `ms` and ended at `atMs`. */
  add(ms: number, atMs: number): void {
    this.#kept[this.#count % SWAPS_KEPT_MAX] = { ms, atMs };
    this.#count += 1;
  }

  /** All moves, those that are no longer kept too. */
  get count(): number {
    return this.#count;
  }

  /** The latest moves, in no order. */
  kept(): readonly Swap[] {
    return this.#kept;
  }
}

/** Of all these windows together; null where none was ever moved. */
export function swapTimesOf(logs: readonly SwapLog[]): SwapTimes | null {
  const kept = logs.flatMap((log) => log.kept());
  const latest = kept.reduce((last, swap) => Math.max(last, swap.atMs), Number.NEGATIVE_INFINITY);
  const last = kept.find(({ atMs }) => atMs === latest);
  if (last === undefined) return null;
  const sorted = kept.map(({ ms }) => ms).sort((left, right) => left - right);
  // Nearest rank: each is a time that was measured.
  const rank = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? last.ms;
  return {
    count: logs.reduce((sum, log) => sum + log.count, 0),
    lastMs: last.ms,
    p50Ms: rank(0.5),
    p95Ms: rank(0.95),
    p99Ms: rank(0.99),
    maxMs: rank(1),
  };
}
