/** The window moved over all dies, again and again, with their contexts resident. */
import { err, ok, type Clock, type Result } from "../../base/mod.ts";
import type { Owner } from "../../owner/mod.ts";
import { quantilesOf, type Quantiles } from "./quantiles.ts";

/** Enough for a 99th percentile. */
const SWAPS_MAX = 1_000;

export type SwapRound = {
  readonly dies: number;
  /** How long a move took, in nanoseconds; the wait for its turn is no part of it. */
  readonly moveNs: Quantiles;
  /** The board's part of it. */
  readonly boardNs: Quantiles;
  /** Until the die host knew of it. */
  readonly noticeNs: Quantiles;
};

export type SwapLoad = {
  readonly owner: Pick<Owner, "swap">;
  /** Online, more than one. */
  readonly dies: readonly number[];
  readonly clock: Clock;
  /** It ends after this time, or after SWAPS_MAX, and after two moves to each die at least. */
  readonly durationMs: number;
};

/** Null where nothing moves; the error is why a move failed. */
export async function runSwaps(load: SwapLoad): Promise<Result<SwapRound | null, string>> {
  const { owner, dies, clock, durationMs } = load;
  const [moves, boards, notices]: [number[], number[], number[]] = [[], [], []];
  const endMs = clock.nowMs() + durationMs;
  for (let index = 0; index < SWAPS_MAX; index++) {
    if (index >= 2 * dies.length && clock.nowMs() >= endMs) break;
    const die = dies[index % dies.length] ?? 0;
    const swapped = await owner.swap(die);
    if (!swapped.ok) return err(`swap ${die}: ${swapped.error.message}`);
    const { moved, moveMs, boardMs, noticeMs } = swapped.value;
    // The first one may be there already.
    if (!moved) continue;
    moves.push(moveMs * 1e6);
    boards.push(boardMs * 1e6);
    notices.push(noticeMs * 1e6);
  }
  if (moves.length === 0) return ok(null);
  const [moveNs, boardNs, noticeNs] = [moves, boards, notices].map(quantilesOf) as [
    Quantiles,
    Quantiles,
    Quantiles,
  ];
  return ok({ dies: dies.length, moveNs, boardNs, noticeNs });
}
