import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { InvariantError, ok, type Clock } from "../base/mod.ts";
import { refuse } from "./die-table.ts";
import { createOpenWindow, createSingleWindow, type Lease, type Window } from "./window.ts";

/** A clock that moves only when told; sleepers wake in the order of their time. */
function createTestClock(): Clock & { readonly advance: (ms: number) => Promise<void> } {
  let now = 0;
  let sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  return {
    nowMs: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ at: now + ms, wake })),
    advance: async (ms) => {
      now += ms;
      const due = sleepers.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
      sleepers = sleepers.filter(({ at }) => at > now);
      for (const { wake } of due) wake();
      await turn();
    },
  };
}

/** Lets promises that are ready run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const POLICY = { minimumHoldMs: 10, maximumWaitMs: 100 };

async function granted(asked: ReturnType<Window["lease"]>): Promise<Lease> {
  const lease = await asked;
  assert.ok(lease.ok);
  return lease.value;
}

test("createSingleWindow() keeps an idle die for the minimum hold, then moves", async () => {
  const clock = createTestClock();
  const window = createSingleWindow({
    clock,
    policy: POLICY,
    move: () => Promise.resolve(ok(undefined)),
  });
  (await granted(window.lease(0))).release();
  const other = window.lease(1);
  await clock.advance(9);
  assert.equal(window.occupant(), 0);
  (await granted(window.lease(0))).release();
  await clock.advance(1);
  assert.equal((await granted(other)).die, 1);
  assert.deepEqual([window.occupant(), window.swaps()], [1, 2]);
});

test("createSingleWindow() serves the die in the window until another has waited too long", async () => {
  const clock = createTestClock();
  const window = createSingleWindow({
    clock,
    policy: POLICY,
    move: () => Promise.resolve(ok(undefined)),
  });
  let held = await granted(window.lease(0));
  const other = window.lease(1);
  for (let at = 0; at < 99; at += 33) {
    const next = await granted(window.lease(0));
    held.release();
    held = next;
    await clock.advance(33);
  }
  await clock.advance(1);
  const late = window.lease(0);
  held.release();
  const first = await granted(other);
  assert.equal(window.occupant(), 1, "the one that waited went before the newer one");
  first.release();
  await clock.advance(10);
  assert.equal((await granted(late)).die, 0);
});

test("createSingleWindow() refuses those who wait for a die that cannot be reached, and goes on", async () => {
  const clock = createTestClock();
  const window = createSingleWindow({
    clock,
    policy: POLICY,
    move: (die) => Promise.resolve(die === 1 ? refuse("slot_failed", "no") : ok(undefined)),
  });
  const [failed, good] = [window.lease(1), window.lease(0)];
  assert.equal((await failed).ok, false);
  assert.equal((await granted(good)).die, 0);
  assert.equal(window.swaps(), 1);
});

test("a lease is given back once", async () => {
  for (const window of [
    createOpenWindow(),
    createSingleWindow({
      clock: createTestClock(),
      policy: POLICY,
      move: () => Promise.resolve(ok(undefined)),
    }),
  ]) {
    const lease = await granted(window.lease(3));
    assert.equal(window.isBusy(3), true);
    lease.release();
    assert.equal(window.isBusy(3), false);
    assert.throws(() => {
      lease.release();
    }, InvariantError);
  }
});

test("createSingleWindow(): nobody waits without end, and a busy die is never moved", async () => {
  const request = fc.record({
    die: fc.nat({ max: 3 }),
    gapMs: fc.nat({ max: 20 }),
    workMs: fc.nat({ max: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 40 }), async (requests) => {
      const clock = createTestClock();
      let busy = 0;
      const window = createSingleWindow({
        clock,
        policy: POLICY,
        move: async () => {
          assert.equal(busy, 0);
          await clock.sleep(1);
          return ok(undefined);
        },
      });
      let longestMs = 0;
      const done = requests.map(() => false);
      const serve = async (index: number, die: number, workMs: number): Promise<void> => {
        const askedMs = clock.nowMs();
        const lease = await granted(window.lease(die));
        longestMs = Math.max(longestMs, clock.nowMs() - askedMs);
        assert.equal(window.occupant(), die);
        busy += 1;
        await clock.sleep(workMs);
        busy -= 1;
        lease.release();
        done[index] = true;
      };
      for (const [index, { die, gapMs, workMs }] of requests.entries()) {
        void serve(index, die, workMs);
        for (let at = 0; at < gapMs; at++) await clock.advance(1);
        await turn();
      }
      for (let at = 0; at < 2000 && done.includes(false); at++) await clock.advance(1);
      assert.ok(!done.includes(false), "everybody was served");
      // Before one's turn come at most: the wait itself, then for each other die a turn of its work.
      const boundMs = POLICY.maximumWaitMs + 4 * (30 + POLICY.maximumWaitMs + 2);
      assert.ok(longestMs <= boundMs, `waited ${String(longestMs)} ms of ${String(boundMs)}`);
    }),
    { numRuns: 50 },
  );
});
