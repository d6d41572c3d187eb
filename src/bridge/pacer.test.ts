import assert from "node:assert/strict";
import { test } from "node:test";

import { BUSY_MS, BUSY_PAUSE_MS, IDLE_PAUSE_MS_MAX, Pacer, pauseAfter, SPIN_MS } from "./pacer.ts";

type Step = string;

/** What a turn of the event loop takes in the clock below. */
const TURN_MS = 0.005;

/** A pacer over a clock that only its pauses move. */
function open(pollUs: number | null): { pacer: Pacer; steps: Step[]; clock: { ms: number } } {
  const clock = { ms: 5000 };
  const steps: Step[] = [];
  const pacer = new Pacer(
    { pollUs, mailboxes: 1 },
    {
      nowMs: () => clock.ms,
      nap: (ms) => {
        steps.push(`nap ${String(ms)}`);
        clock.ms += ms;
      },
      after: (ms, callback) => {
        steps.push(`sleep ${String(ms)}`);
        clock.ms += ms;
        callback();
        return () => undefined;
      },
      turn: () => {
        steps.push("turn");
        clock.ms += TURN_MS;
        return Promise.resolve();
      },
      onRest: () => undefined,
    },
  );
  return { pacer, steps, clock };
}

test("pauses are shortest while busy, grow with the time after, and have a bound", () => {
  assert.equal(pauseAfter(0, 1), 0);
  assert.equal(pauseAfter(SPIN_MS, 1), BUSY_PAUSE_MS);
  assert.equal(pauseAfter(BUSY_MS - 0.001, 1), BUSY_PAUSE_MS);
  assert.ok(pauseAfter(BUSY_MS, 1) > 1 && pauseAfter(BUSY_MS, 1) < 2);
  assert.equal(pauseAfter(1e9, 1), IDLE_PAUSE_MS_MAX);
  let before = 0;
  for (let idleMs = 0; idleMs < 600; idleMs++) {
    assert.ok(pauseAfter(idleMs, 1) >= before);
    before = pauseAfter(idleMs, 1);
  }
});

test("many mailboxes are looked at less often, but only where nothing happens", () => {
  assert.equal(pauseAfter(1e9, 50), IDLE_PAUSE_MS_MAX);
  assert.equal(pauseAfter(1e9, 256), 128);
  assert.equal(pauseAfter(SPIN_MS, 256), BUSY_PAUSE_MS);
});

test("a short pause lets the event loop turn before and after it", async () => {
  const { pacer, steps, clock } = open(null);
  clock.ms += 2 * SPIN_MS;
  await pacer.pause();
  assert.deepEqual(steps, ["turn", `nap ${String(BUSY_PAUSE_MS)}`, "turn"]);
});

test("an idle loop comes to rest: some polls, then some tens a second", async () => {
  const { pacer, steps, clock } = open(null);
  const startMs = clock.ms;
  let polls = 0;
  for (; clock.ms < startMs + 10_000; polls++) await pacer.pause();
  const naps = steps.filter((step) => step.startsWith("nap")).length;
  // In this clock a nap takes as long as asked for; the machine's take twice as long.
  const napsMost = BUSY_MS / (BUSY_PAUSE_MS + 2 * TURN_MS) + 1;
  assert.ok(naps > napsMost - 10 && naps <= napsMost, String(naps));
  const spins = SPIN_MS / (2 * TURN_MS) + 1;
  assert.ok(polls - naps <= 10_000 / IDLE_PAUSE_MS_MAX + 50 + spins, String(polls - naps));
  steps.length = 0;
  pacer.active();
  await pacer.pause();
  assert.deepEqual(steps, ["turn", "turn"]);
});

const FIXED: readonly (readonly [pollUs: number, steps: readonly Step[]])[] = [
  [0, ["turn", "turn"]],
  [20, ["turn", "nap 0.02", "turn"]],
  [999, ["turn", "nap 0.999", "turn"]],
  [1000, ["sleep 1"]],
  [250_000, ["sleep 250"]],
];

for (const [pollUs, expected] of FIXED) {
  test(`a fixed pause of ${String(pollUs)} us, busy or not`, async () => {
    const { pacer, steps, clock } = open(pollUs);
    await pacer.pause();
    clock.ms += 60_000;
    await pacer.pause();
    assert.deepEqual(steps, [...expected, ...expected]);
  });
}

test("activity ends a long pause", async () => {
  let [cancelled, rests] = [0, 0];
  const pacer = new Pacer(
    { pollUs: 1e6, mailboxes: 1 },
    {
      nowMs: () => 0,
      nap: () => assert.fail("a nap"),
      after: () => () => (cancelled += 1),
      turn: () => Promise.resolve(),
      onRest: () => (rests += 1),
    },
  );
  const pause = pacer.pause();
  pacer.active();
  await pause;
  assert.equal(rests, 1);
  assert.equal(cancelled, 1, "a timer that is left would keep the process");
});

test("a clock that goes back makes pauses short, not endless", () => {
  assert.equal(pauseAfter(-1e9, 1), BUSY_PAUSE_MS);
});
