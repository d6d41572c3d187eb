import assert from "node:assert/strict";
import { test } from "node:test";
import { err, ok, VirtualClock } from "../../base/mod.ts";
import type { Owner } from "../../owner/mod.ts";
import { runSwaps } from "./bench-swap.ts";

const DIES = [0, 1, 2];

/** An owner whose die 0 is in the window; each move takes a millisecond more than the last. */
function createSwapper(isDirect = false): {
  readonly swap: Owner["swap"];
  readonly seen: number[];
} {
  const seen: number[] = [];
  let occupant = 0;
  const swap: Owner["swap"] = (die) => {
    seen.push(die);
    const moved = !isDirect && die !== occupant;
    occupant = die;
    const moveMs = moved ? seen.length : 0;
    const times = { elapsedMs: 100, moveMs, boardMs: moveMs / 2, noticeMs: moveMs / 4 };
    return Promise.resolve(ok({ die, moved, ...times }));
  };
  return { swap, seen };
}

test("swaps go over all dies in turn, and what did not move is not counted", async () => {
  const { swap, seen } = createSwapper();
  const clock = new VirtualClock();
  const round = await runSwaps({ owner: { swap }, dies: DIES, clock, durationMs: 0 });
  assert.deepEqual(seen, [0, 1, 2, 0, 1, 2], "each die twice, however short the time");
  assert.ok(round.ok && round.value !== null);
  const { dies, moveNs, boardNs } = round.value;
  assert.deepEqual([dies, moveNs.count, moveNs.min, moveNs.max], [3, 5, 2e6, 6e6]);
  assert.equal(boardNs.max, 3e6);
});

test("swaps end after a thousand where there is time for more", async () => {
  const { swap, seen } = createSwapper();
  const clock = new VirtualClock();
  await runSwaps({ owner: { swap }, dies: DIES, clock, durationMs: 1000 });
  assert.equal(seen.length, 1000);
});

test("where every die is mapped there is nothing to tell", async () => {
  const { swap } = createSwapper(true);
  const clock = new VirtualClock();
  const round = await runSwaps({ owner: { swap }, dies: DIES, clock, durationMs: 0 });
  assert.deepEqual(round, { ok: true, value: null });
});

test("a move that fails is what is told", async () => {
  const swap: Owner["swap"] = () => Promise.resolve(err({ code: "slot_failed", message: "stuck" }));
  const clock = new VirtualClock();
  const round = await runSwaps({ owner: { swap }, dies: DIES, clock, durationMs: 0 });
  assert.deepEqual(round, { ok: false, error: "swap 0: stuck" });
});
