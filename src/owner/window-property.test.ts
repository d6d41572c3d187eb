// The window's promises, over random clients on virtual time. A failure prints fast-check's seed
// and path; fc.assert(…, { seed, path }) replays it, since nothing here waits for real time.
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { ok, VirtualClock } from "../base/mod.ts";
import { refuse } from "./die-table.ts";
import { createSingleWindow, type MoveTimes } from "./window.ts";

/** Asks for its die again and again. Two without a pause keep it busy for as long as they go on. */
type Client = {
  readonly die: number;
  readonly startMs: number;
  readonly leaseMs: number;
  readonly pauseMs: number;
  readonly requests: number;
};

type Case = {
  readonly dies: number;
  readonly minimumHoldMs: number;
  readonly maximumWaitMs: number;
  /** Taken in turn by the moves. */
  readonly moveMs: readonly number[];
  /** Each move to one of these fails. */
  readonly failing: readonly number[];
  readonly clients: readonly Client[];
};

const caseOf = (dies: number): fc.Arbitrary<Case> =>
  fc.record({
    dies: fc.constant(dies),
    minimumHoldMs: fc.nat({ max: 20 }),
    maximumWaitMs: fc.nat({ max: 200 }),
    moveMs: fc.array(fc.nat({ max: 8 }), { minLength: 1, maxLength: 5 }),
    failing: fc.oneof(
      { weight: 3, arbitrary: fc.constant<number[]>([]) },
      { weight: 1, arbitrary: fc.array(fc.nat({ max: dies - 1 }), { maxLength: 2 }) },
    ),
    clients: fc.array(
      fc.record({
        die: fc.nat({ max: dies - 1 }),
        startMs: fc.nat({ max: 300 }),
        leaseMs: fc.nat({ max: 30 }),
        pauseMs: fc.oneof(fc.constant(0), fc.nat({ max: 50 })),
        requests: fc.integer({ min: 1, max: 12 }),
      }),
      { minLength: 1, maxLength: 24 },
    ),
  });

type Outcome = {
  readonly isRefused: boolean;
  readonly waitMs: number;
  readonly die: number;
  readonly move: MoveTimes | null;
};

type Run = {
  readonly outcomes: readonly Outcome[];
  /** When each move ended that went well. */
  readonly arrivalsMs: readonly number[];
  readonly failedMoves: number;
};

/** Runs all clients to their end; mutual exclusion is checked on the way. */
async function play(options: Case): Promise<Run> {
  const clock = new VirtualClock();
  const [outcomes, arrivalsMs]: [Outcome[], number[]] = [[], []];
  const leased = new Map<number, number>();
  const countOf = (die: number, by: number): void =>
    void leased.set(die, (leased.get(die) ?? 0) + by);
  const busy = (): number[] => [...leased].filter(([, count]) => count > 0).map(([die]) => die);
  let [moves, failedMoves] = [0, 0];
  const window = createSingleWindow({
    clock,
    policy: options,
    move: async (die) => {
      const boardMs = options.moveMs[moves++ % options.moveMs.length] ?? 0;
      assert.deepEqual(busy(), [], "no die is busy as the window moves");
      await clock.sleep(boardMs);
      assert.deepEqual(busy(), [], "nor is one until it has moved");
      if (options.failing.includes(die)) {
        failedMoves += 1;
        return refuse("slot_failed", "scripted");
      }
      arrivalsMs.push(clock.nowMs());
      return ok({ boardMs, noticeMs: 0 });
    },
  });
  const serve = async (client: Client): Promise<void> => {
    await clock.sleep(client.startMs);
    for (let request = 0; request < client.requests; request++) {
      const sinceMs = clock.nowMs();
      const lease = await window.lease(client.die);
      const waitMs = clock.nowMs() - sinceMs;
      const move = lease.ok ? lease.value.move : null;
      outcomes.push({ isRefused: !lease.ok, waitMs, die: client.die, move });
      if (lease.ok) {
        countOf(client.die, 1);
        assert.deepEqual(busy(), [client.die], "one die at a time is touched");
        assert.equal(window.state().occupant, client.die);
        await clock.sleep(client.leaseMs);
        countOf(client.die, -1);
        lease.value.release();
      }
      await clock.sleep(client.pauseMs);
    }
  };
  let left = options.clients.length;
  const all = Promise.all(options.clients.map((each) => serve(each).finally(() => (left -= 1))));
  const ended = await clock.run(() => left === 0, Number.POSITIVE_INFINITY);
  assert.equal(ended, "done", "every request was settled");
  await all;
  assert.equal(window.swapLog.count, arrivalsMs.length);
  return { outcomes, arrivalsMs, failedMoves };
}

const largest = (values: readonly number[]): number => Math.max(0, ...values);

/** window.ts says why. */
function longestWaitMs({ dies, clients, ...options }: Case, isFailing: boolean): number {
  const visitMs =
    largest(options.moveMs) + options.minimumHoldMs + largest(clients.map((each) => each.leaseMs));
  const pauseMs = isFailing ? options.maximumWaitMs + options.minimumHoldMs + 1 : 0;
  return options.maximumWaitMs + dies * visitMs + largest(options.moveMs) + pauseMs;
}

function check(options: Case, { outcomes, arrivalsMs, failedMoves }: Run): void {
  for (const { die, waitMs, isRefused } of outcomes) {
    const isFailing = options.failing.includes(die);
    assert.equal(isRefused, isFailing);
    const boundMs = longestWaitMs(options, isFailing);
    assert.ok(waitMs <= boundMs, `die ${String(die)} waited ${String(waitMs)} ms of ${boundMs}`);
  }
  // No thrash: each die that came stayed for its hold, and came for somebody who then got a lease.
  arrivalsMs.slice(1).forEach((at, index) => {
    const stayedMs = at - (arrivalsMs[index] ?? 0);
    if (failedMoves === 0) assert.ok(stayedMs >= options.minimumHoldMs, `${String(stayedMs)} ms`);
  });
  const batches = new Set(outcomes.map(({ move }) => move).filter((move) => move !== null));
  assert.equal(batches.size, arrivalsMs.length, "each move served a batch");
  assert.ok(failedMoves <= outcomes.filter(({ isRefused }) => isRefused).length);
}

test("window: bounded waits, no thrash, one die at a time, and every request settles", async () => {
  const anyCase = fc.integer({ min: 2, max: 16 }).chain(caseOf);
  await fc.assert(
    fc.asyncProperty(anyCase, async (options) => {
      check(options, await play(options));
    }),
    { numRuns: 150 },
  );
});

test("window: the same clients are served the same way each time", async () => {
  await fc.assert(
    fc.asyncProperty(caseOf(4), async (options) => {
      assert.deepEqual(await play(options), await play(options));
    }),
    { numRuns: 10 },
  );
});

test("window: a die that is kept busy without end yields to fifteen others", async () => {
  const greedy = [0, 7].map((startMs) => ({
    ...{ die: 0, startMs, leaseMs: 15, pauseMs: 0 },
    requests: 200,
  }));
  const others = Array.from({ length: 15 }, (_, index) => ({
    ...{ die: index + 1, startMs: 20, leaseMs: 5, pauseMs: 0 },
    requests: 1,
  }));
  const options: Case = {
    ...{ dies: 16, minimumHoldMs: 5, maximumWaitMs: 100, moveMs: [2], failing: [] },
    clients: [...greedy, ...others],
  };
  const { outcomes } = await play(options);
  const waits = outcomes.filter(({ die }) => die !== 0).map(({ waitMs }) => waitMs);
  assert.equal(waits.length, 15);
  assert.ok(largest(waits) <= 100 + 16 * 7 + 15 + 2, `${String(largest(waits))} ms`);
  assert.ok(Math.min(...waits) >= 80, "the busy die is not cut short before");
});
