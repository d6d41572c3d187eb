import assert from "node:assert/strict";
import { test } from "node:test";

import { InvariantError, ok, VirtualClock } from "../base/mod.ts";
import { refuse } from "./die-table.ts";
import {
  createOpenWindow,
  createSingleWindow,
  type Lease,
  type SingleWindowOptions,
  type Window,
} from "./window.ts";

const POLICY = { minimumHoldMs: 10, maximumWaitMs: 100 };

type Bench = {
  readonly clock: VirtualClock;
  readonly window: Window;
  readonly moves: number[];
  /** Lets that much time pass. */
  readonly advance: (ms: number) => Promise<void>;
};

/** A window whose moves to dies in `failing` fail; each takes `moveMs`. */
function createBench(
  options: { readonly moveMs?: number; readonly failing?: readonly number[] } = {},
  policy: SingleWindowOptions["policy"] = POLICY,
): Bench {
  const clock = new VirtualClock();
  const moves: number[] = [];
  const window = createSingleWindow({
    clock,
    policy,
    move: async (die) => {
      moves.push(die);
      await clock.sleep(options.moveMs ?? 0);
      if (options.failing?.includes(die) === true) return refuse("slot_failed", "no");
      return ok({ boardMs: options.moveMs ?? 0, noticeMs: 0 });
    },
  });
  const advance = async (ms: number): Promise<void> => {
    let isOver = false;
    clock.after(ms, () => (isOver = true));
    assert.equal(await clock.run(() => isOver, Number.POSITIVE_INFINITY), "done");
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, window, moves, advance };
}

async function granted(bench: Bench, asked: ReturnType<Window["lease"]>): Promise<Lease> {
  let lease: Awaited<typeof asked> | null = null;
  void asked.then((result) => (lease = result));
  assert.equal(await bench.clock.run(() => lease !== null, Number.POSITIVE_INFINITY), "done");
  const settled = await asked;
  assert.ok(settled.ok);
  return settled.value;
}

test("createSingleWindow() keeps an idle die for the minimum hold, then moves", async () => {
  const bench = createBench();
  const { window, advance } = bench;
  (await granted(bench, window.lease(0))).release();
  const other = window.lease(1);
  await advance(9);
  assert.equal(window.state().occupant, 0);
  (await granted(bench, window.lease(0))).release();
  await advance(1);
  assert.equal((await granted(bench, other)).die, 1);
  assert.deepEqual([window.state().occupant, window.swapLog.count], [1, 2]);
});

test("createSingleWindow() serves its die until another has waited too long", async () => {
  const bench = createBench();
  const { window, advance } = bench;
  let held = await granted(bench, window.lease(0));
  const other = window.lease(1);
  for (let at = 0; at < 99; at += 33) {
    const next = await granted(bench, window.lease(0));
    held.release();
    held = next;
    await advance(33);
  }
  await advance(1);
  const late = window.lease(0);
  assert.equal(window.tryLease(0), null, "not at the expense of who has waited");
  held.release();
  const first = await granted(bench, other);
  assert.equal(window.state().occupant, 1, "the one that waited went before the newer one");
  first.release();
  assert.equal((await granted(bench, late)).die, 0);
});

test("createSingleWindow() holds a die for its minimum though all others are overdue", async () => {
  const bench = createBench({ moveMs: 1 });
  const { window, clock, advance } = bench;
  const held = await granted(bench, window.lease(0));
  const others = [1, 2, 3].map((die) => window.lease(die));
  await advance(500);
  held.release();
  const comings: number[] = [];
  for (const other of others) {
    const lease = await granted(bench, other);
    comings.push(clock.nowMs());
    // A burst for the die in the window is served though others have waited for half a second.
    (await granted(bench, window.lease(lease.die))).release();
    lease.release();
  }
  const gaps = comings.slice(1).map((at, index) => at - (comings[index] ?? 0));
  assert.deepEqual(gaps, [11, 11], "a hold of 10 ms and a move of 1 ms");
  assert.deepEqual(bench.moves, [0, 1, 2, 3], "who has waited longest goes next");
});

test("createSingleWindow() refuses who waits for an unreachable die, and goes on", async () => {
  const bench = createBench({ failing: [1] });
  const [failed, good] = [bench.window.lease(1), bench.window.lease(0)];
  assert.equal((await granted(bench, good)).die, 0);
  assert.equal((await failed).ok, false);
  assert.deepEqual([bench.window.swapLog.count, bench.window.state().failedMoves], [1, 1]);
});

test("a die whose moves fail takes the window from others ever less often", async () => {
  const bench = createBench({ failing: [1], moveMs: 1 });
  const { window, clock, moves } = bench;
  let isOver = false;
  const retry = async (): Promise<void> => {
    while (!isOver) await window.lease(1);
  };
  const serve = async (): Promise<void> => {
    while (!isOver) {
      const lease = await window.lease(0);
      await clock.sleep(1);
      if (lease.ok) lease.value.release();
    }
  };
  void retry();
  void serve();
  await clock.run(() => clock.nowMs() >= 1000, Number.POSITIVE_INFINITY);
  isOver = true;
  const tries = moves.filter((die) => die === 1).length;
  // Pauses of 10, 20, 40, 80 and then 100 ms, where each try in a row would take one.
  assert.ok(tries > 5 && tries < 16, `${String(tries)} tries in a second`);
});

test("a failing die is tried at once where nobody else has any use for the window", async () => {
  const { window, clock, moves } = createBench({ failing: [1], moveMs: 1 });
  for (let tries = 1; tries <= 3; tries++) {
    let isRefused = false;
    void window.lease(1).then((lease) => (isRefused = !lease.ok));
    await clock.run(() => isRefused, Number.POSITIVE_INFINITY);
    assert.deepEqual([moves.length, clock.nowMs()], [tries, tries]);
  }
});

test("tryLease() takes what is mapped and free, and never moves the window", async () => {
  const bench = createBench({ moveMs: 5 });
  const { window } = bench;
  assert.equal(window.tryLease(0), null, "a free window shows no die");
  const moving = window.lease(0);
  assert.equal(window.tryLease(0), null, "nor does one that moves");
  (await granted(bench, moving)).release();
  const lease = window.tryLease(0);
  assert.ok(lease !== null && window.isBusy(0));
  assert.equal(window.tryLease(1), null);
  lease.release();
  assert.deepEqual(bench.moves, [0]);
});

test("close() refuses who waits and who comes, and leaves leases out", async () => {
  const bench = createBench();
  const { window } = bench;
  const held = await granted(bench, window.lease(0));
  const waits = window.lease(1);
  window.close(refuse("leaving", "gone"));
  for (const refused of [await waits, await window.lease(0)]) {
    assert.ok(!refused.ok && refused.error.code === "leaving");
  }
  assert.equal(window.isBusy(0), true);
  held.release();
  assert.equal(await bench.clock.run(() => false, Number.POSITIVE_INFINITY), "idle");
});

test("state() tells who waits, for how long, and how long the die has been there", async () => {
  const bench = createBench();
  const { window, advance } = bench;
  const held = await granted(bench, window.lease(3));
  const waits = window.lease(1);
  void window.lease(1);
  await advance(7);
  assert.deepEqual(window.state(), {
    ...{ occupant: 3, isMoving: false, leases: 1, waiting: 2 },
    ...{ longestWaitMs: 7, heldMs: 7, failedMoves: 0 },
  });
  assert.deepEqual([window.waitingFor(1), window.waitingFor(3)], [2, 0]);
  held.release();
  await granted(bench, waits);
});

test("a lease is given back once", async () => {
  const bench = createBench();
  for (const window of [createOpenWindow(), bench.window]) {
    const lease = await granted(bench, window.lease(3));
    assert.equal(window.isBusy(3), true);
    lease.release();
    assert.equal(window.isBusy(3), false);
    assert.throws(() => {
      lease.release();
    }, InvariantError);
  }
});
