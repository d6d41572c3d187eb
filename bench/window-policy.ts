// What the window's policy does to throughput and waits: clients of 2 or 16 dies behind one window,
// on virtual time, so that minutes of load take a second and every run gives the same figures.
//   node dist/bench/window-policy.js [seed]
import { ok, VirtualClock } from "../src/base/mod.ts";
import { createSingleWindow, type WindowPolicy } from "../src/owner/mod.ts";

type Load = {
  readonly name: string;
  readonly dies: number;
  /** Each posts a job for its die, waits for it, pauses, and posts the next. */
  readonly clientsPerDie: number;
  /** Mean time between a job's end and its client's next one; exponentially distributed. */
  readonly pauseMs: number;
  /** Dies that have clients at all. */
  readonly activeDies: number;
};

const LOADS: readonly Load[] = [
  { name: "two dies, both busy", dies: 2, clientsPerDie: 4, pauseMs: 1, activeDies: 2 },
  {
    name: "two dies, one busy, one now and then",
    dies: 2,
    clientsPerDie: 0,
    pauseMs: 0,
    activeDies: 2,
  },
  { name: "sixteen dies, all busy", dies: 16, clientsPerDie: 4, pauseMs: 1, activeDies: 16 },
  { name: "sixteen dies, light", dies: 16, clientsPerDie: 1, pauseMs: 400, activeDies: 16 },
];

/** Rows of the table: minimum hold and maximum wait, in milliseconds. */
const POLICIES: readonly (readonly [holdMs: number, waitMs: number])[] = [
  [0, 0],
  [0, 1000],
  [5, 0],
  [5, 100],
  [5, 1000],
  [50, 1000],
  [200, 1000],
];

/** How long each cell is simulated, in virtual milliseconds. */
const DURATION_MS = 60_000;

/** A job's time on its die, the window's move, and the notice to the die host. */
const JOB_MS = 2;
const MOVE_MS = 4;

/** Marsaglia's xorshift32: uniform in (0, 1). */
function createRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) + 0.5) / 2 ** 32;
  };
}

type Cell = {
  readonly jobsPerSecond: number;
  readonly waits: readonly number[];
  readonly swaps: number;
};

/** The mean pauses of all clients, by die. */
function clientsOf(load: Load): readonly (readonly [die: number, pauseMs: number])[] {
  if (load.clientsPerDie === 0)
    return [
      [0, 0],
      [0, 0],
      [1, 500],
    ];
  return Array.from({ length: load.activeDies * load.clientsPerDie }, (_, index) => [
    index % load.activeDies,
    load.pauseMs,
  ]);
}

async function simulate(load: Load, policy: WindowPolicy, seed: number): Promise<Cell> {
  const clock = new VirtualClock();
  const random = createRandom(seed);
  const window = createSingleWindow({
    clock,
    policy,
    move: async () => {
      await clock.sleep(MOVE_MS);
      return ok({ boardMs: MOVE_MS, noticeMs: 0 });
    },
  });
  const waits: number[] = [];
  /** A die host runs a die's jobs one after the other. */
  const freeAtMs = new Map<number, number>();
  const serve = async (die: number, pauseMs: number): Promise<void> => {
    for (;;) {
      await clock.sleep(-Math.log(random()) * pauseMs);
      const askedMs = clock.nowMs();
      const lease = await window.lease(die);
      if (!lease.ok) return;
      waits.push(clock.nowMs() - askedMs);
      const endMs = Math.max(freeAtMs.get(die) ?? 0, clock.nowMs()) + JOB_MS;
      freeAtMs.set(die, endMs);
      await clock.sleep(endMs - clock.nowMs());
      lease.value.release();
    }
  };
  for (const [die, pauseMs] of clientsOf(load)) void serve(die, pauseMs);
  await clock.run(() => clock.nowMs() >= DURATION_MS, DURATION_MS);
  return {
    jobsPerSecond: (waits.length / DURATION_MS) * 1000,
    waits: waits.sort((left, right) => left - right),
    swaps: window.swapLog.count,
  };
}

const rank = (sorted: readonly number[], share: number): string =>
  (sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0).toFixed(0);

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const seed = Number(process.argv[2] ?? 1);
print(`seed ${String(seed)}; a job takes ${String(JOB_MS)} ms, a move ${String(MOVE_MS)} ms`);
for (const load of LOADS) {
  print(`\n${load.name}`);
  print("| hold ms | wait ms | jobs/s | wait p50 | wait p99 | longest | swaps/s |");
  print("| ------- | ------- | ------ | -------- | -------- | ------- | ------- |");
  for (const [minimumHoldMs, maximumWaitMs] of POLICIES) {
    const cell = await simulate(load, { minimumHoldMs, maximumWaitMs }, seed);
    const { waits } = cell;
    const columns = [
      ...[minimumHoldMs, maximumWaitMs].map(String),
      cell.jobsPerSecond.toFixed(0),
      ...[rank(waits, 0.5), rank(waits, 0.99), rank(waits, 1)],
      ((cell.swaps / DURATION_MS) * 1000).toFixed(1),
    ];
    print(`| ${columns.join(" | ")} |`);
  }
}
process.exit(0);
