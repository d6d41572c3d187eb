// The owner over in-process die hosts: every state and invariant of DESIGN section 4, by random
// command sequences against a model, and the cases that are worth a name.
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { ok, systemClock } from "../base/mod.ts";
import { createDirectBoard, createSimBoard, type SimStep } from "../board/mod.ts";
import type { JournalEntry } from "./journal.ts";
import { createOwner } from "./owner.ts";
import type { Owner, OwnerStatus } from "./reports.ts";
import { createFakeLauncher, createFakeScript, type FakeGpuScript } from "./testing.ts";

const DIES = 3;
const baseModule = { name: "base.ptx", path: import.meta.filename };

type Bench = {
  readonly owner: Owner;
  readonly script: FakeGpuScript;
  readonly killAll: () => void;
  readonly entries: JournalEntry[];
  readonly steps: SimStep[];
  readonly lines: string[];
  /** Set: the next step of the board with this call fails. */
  fault: SimStep["call"] | null;
};

function createBench(slot: "sim" | "direct", workTimeoutMs = 1000): Bench {
  const script = createFakeScript();
  const { launch, killAll } = createFakeLauncher(script, DIES);
  const [entries, steps, lines]: [JournalEntry[], SimStep[], string[]] = [[], [], []];
  const bench: { fault: SimStep["call"] | null } = { fault: null };
  const board =
    slot === "direct"
      ? createDirectBoard({ dies: null })
      : createSimBoard({
          dies: DIES,
          clock: systemClock,
          fault: (step) => {
            steps.push(step);
            if (step.call !== bench.fault) return null;
            bench.fault = null;
            return "scripted fault";
          },
        });
  const owner = createOwner({
    board,
    launchHost: launch,
    baseModule,
    log: (line) => void lines.push(line),
    journal: { write: (entry) => ok(void entries.push(entry)) },
    clock: systemClock,
    windowPolicy: { minimumHoldMs: 0, maximumWaitMs: 50 },
    workTimeoutMs,
  });
  return Object.assign(bench, { owner, script, killAll, entries, steps, lines });
}

const oneTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets the news of a host's death, and a restoration that follows, run their course. */
async function settle(owner: Owner): Promise<OwnerStatus> {
  for (let turn = 0; turn < 20; turn++) await oneTurn();
  return owner.status();
}

type Command =
  | { readonly name: "online" | "swap" | "read" | "probe"; readonly die: number }
  | { readonly name: "work"; readonly die: number; readonly seed: number; readonly iters: number }
  | { readonly name: "kill" }
  | { readonly name: "boardFault"; readonly call: SimStep["call"] }
  | { readonly name: "faultyWork"; readonly die: number };

const dieNumber = fc.integer({ min: 0, max: DIES });

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ name: fc.constant("online" as const), die: dieNumber }) },
  { weight: 2, arbitrary: fc.record({ name: fc.constant("swap" as const), die: dieNumber }) },
  { weight: 4, arbitrary: fc.record({ name: fc.constant("read" as const), die: dieNumber }) },
  { weight: 1, arbitrary: fc.record({ name: fc.constant("probe" as const), die: dieNumber }) },
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constant("work" as const),
      die: dieNumber,
      seed: fc.nat(),
      iters: fc.integer({ min: 0, max: 2 ** 24 - 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ name: "kill" as const }) },
  { weight: 1, arbitrary: fc.record({ name: fc.constant("faultyWork" as const), die: dieNumber }) },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constant("boardFault" as const),
      call: fc.constantFrom("acquire", "bind", "unblock", "modprobe nvidia"),
    }),
  },
);

/** Half of the sequences begin with two dies online, so that what follows is not mostly refused. */
const opening: fc.Arbitrary<readonly Command[]> = fc.constantFrom(
  [],
  [
    { name: "online", die: 0 },
    { name: "online", die: 1 },
  ],
);

/** What an operator may expect: which dies were brought online, and whose result can be read. */
type Model = {
  readonly wanted: Set<number>;
  readonly pending: Map<number, { readonly iters: number }>;
  isBoardFaulty: boolean;
};

async function take(bench: Bench, model: Model, step: Command, slot: string): Promise<void> {
  const { owner } = bench;
  const isReal = "die" in step && step.die < DIES;
  switch (step.name) {
    case "kill":
      bench.killAll();
      await settle(owner);
      model.pending.clear();
      return;
    case "boardFault":
      if (slot === "sim") {
        bench.fault = step.call;
        model.isBoardFaulty = true;
      }
      return;
    case "online": {
      const online = await owner.online(step.die);
      if (online.ok) model.wanted.add(step.die);
      if (!model.isBoardFaulty) assert.equal(online.ok, isReal);
      return;
    }
    case "swap": {
      const swapped = await owner.swap(step.die);
      if (!model.isBoardFaulty) assert.equal(swapped.ok, isReal);
      return;
    }
    case "probe":
      await owner.probe(step.die);
      return;
    case "faultyWork": {
      bench.script.isNextLaunchFaulty = true;
      const work = await owner.work(step.die, 1, 1);
      if (!work.ok) {
        bench.script.isNextLaunchFaulty = false;
        return;
      }
      const read = await owner.read(step.die);
      assert.ok(!read.ok && /CUDA_ERROR_ILLEGAL_ADDRESS/.test(read.error.message));
      await settle(owner);
      if (slot === "sim") model.pending.clear();
      else model.pending.delete(step.die);
      return;
    }
    case "work": {
      const work = await owner.work(step.die, step.seed, step.iters);
      if (work.ok) model.pending.set(step.die, { iters: step.iters });
      if (!model.isBoardFaulty) assert.equal(work.ok, model.wanted.has(step.die));
      return;
    }
    case "read": {
      const read = await owner.read(step.die);
      const expected = model.pending.get(step.die);
      if (model.isBoardFaulty && !read.ok) return;
      assert.equal(read.ok, expected !== undefined, read.ok ? "" : read.error.message);
      if (read.ok) {
        assert.equal(read.value.pass, true);
        assert.equal(read.value.checked, 1024 * 1024);
        assert.equal(read.value.iters, expected?.iters);
      }
    }
  }
}

/**
 * The invariants that can be seen from outside; the rest are `invariant` calls in the code itself.
 */
async function checkInvariants(bench: Bench, model: Model, slot: string): Promise<void> {
  const status = await bench.owner.status();
  // 1: one occupant at most, and only behind a window.
  if (slot === "direct") assert.equal(status.activeDie, null);
  // 2 and 6: nothing resident is ever closed.
  assert.equal(bench.script.closedContexts, 0);
  // 3: the driver is loaded once, and after the others were blocked.
  const loads = bench.entries.filter(
    ({ step, phase }) => step === "load-driver" && phase === "done",
  );
  assert.ok(loads.length <= 1);
  // 4: each step was journalled before it ran, and has an outcome before the next on that die.
  const open = new Map<number, string>();
  for (const { step, die, phase } of bench.entries) {
    if (phase === "begin") open.set(die, step);
    else assert.equal(open.get(die), step);
  }
  // 7: ready is said of online dies alone.
  for (const die of status.dies) {
    if (die.ready) assert.equal(die.state, "online");
    if (die.state === "online") assert.ok(model.wanted.has(die.die));
  }
}

for (const slot of ["sim", "direct"] as const) {
  test(`${slot}: random commands keep the invariants and agree with the model`, async () => {
    await fc.assert(
      fc.asyncProperty(opening, fc.array(command, { maxLength: 14 }), async (first, rest) => {
        const bench = createBench(slot);
        const model: Model = { wanted: new Set(), pending: new Map(), isBoardFaulty: false };
        for (const step of [...first, ...rest]) {
          await take(bench, model, step, slot);
          await checkInvariants(bench, model, slot);
        }
        await bench.owner.leave();
      }),
      { numRuns: 40 },
    );
  });
}

test("sim: work on two dies, swaps at will, and both read back right", async () => {
  const { owner } = createBench("sim");
  for (const die of [0, 1]) assert.ok((await owner.online(die)).ok);
  assert.ok((await owner.work(0, 7, 100)).ok);
  assert.ok((await owner.work(1, 9, 200)).ok);
  for (const die of [0, 1, 1, 0]) assert.ok((await owner.swap(die)).ok);
  for (const die of [0, 1, 0]) {
    const read = await owner.read(die);
    assert.ok(read.ok && read.value.pass);
  }
  assert.deepEqual(await owner.count(), { ok: true, value: DIES });
});

test("sim: a die whose kernel is running is not swapped out", async () => {
  const { owner, script, steps } = createBench("sim");
  for (const die of [0, 1]) assert.ok((await owner.online(die)).ok);
  script.pollsPerLaunch = 3000;
  assert.ok((await owner.work(0, 1, 1)).ok);
  assert.equal((await owner.status()).dies[0]?.isBusy, true);
  const moves = steps.length;
  const swap = owner.swap(1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(steps.length, moves, "the window stayed while the kernel ran");
  assert.ok((await swap).ok);
  assert.equal(steps.length, moves + 1);
});

test("sim: after a failed bring-up step the next try goes through", async () => {
  for (const call of ["acquire", "modprobe nvidia", "block-all-except"] as const) {
    const bench = createBench("sim");
    bench.fault = call;
    const failed = await bench.owner.online(0);
    assert.ok(!failed.ok && /scripted fault/.test(failed.error.message), call);
    assert.ok((await bench.owner.online(0)).ok, call);
  }
});

test("direct: a host that dies is replaced, and no other die notices", async () => {
  const { owner, killAll } = createBench("direct");
  assert.ok((await owner.online(0)).ok);
  assert.ok((await owner.work(0, 3, 5)).ok);
  killAll();
  await settle(owner);
  const lost = await owner.read(0);
  assert.ok(!lost.ok && /killed by SIGKILL.*work 0 3 5/.test(lost.error.message));
  const [die] = (await owner.status()).dies;
  assert.deepEqual([die?.state, die?.ready, die?.restarts], ["online", true, 1]);
  assert.ok((await owner.work(0, 3, 5)).ok);
  const read = await owner.read(0);
  assert.ok(read.ok && read.value.pass);
});

test("sim: when the host dies every die is lost, and comes back on demand", async () => {
  const { owner, killAll } = createBench("sim");
  for (const die of [0, 1]) assert.ok((await owner.online(die)).ok);
  killAll();
  const lost = await settle(owner);
  assert.deepEqual(
    lost.dies.map(({ state }) => state),
    ["lost", "lost", "discovered"],
  );
  assert.match(lost.dies[1]?.lastCause?.message ?? "", /killed by SIGKILL/);
  assert.ok((await owner.work(1, 1, 1)).ok);
  assert.ok((await owner.online(0)).ok);
  const read = await owner.read(1);
  assert.ok(read.ok && read.value.pass);
});

test("an endless kernel comes back as a timeout, and the die works again right after", async () => {
  for (const slot of ["direct", "sim"] as const) {
    const { owner, script } = createBench(slot, 60);
    assert.ok((await owner.online(0)).ok);
    script.isNextLaunchEndless = true;
    assert.ok((await owner.work(0, 1, 1)).ok);
    const ended = await owner.read(0);
    assert.ok(!ended.ok && /still running after 60 ms/.test(ended.error.message));
    assert.ok((await owner.work(0, 1, 1)).ok);
    const read = await owner.read(0);
    assert.ok(read.ok && read.value.pass);
  }
});

/** What is done in one go, without waiting for one before the next. */
const burst = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: command },
    { weight: 2, arbitrary: fc.constant({ name: "kill" as const }) },
  ),
  { minLength: 1, maxLength: 8 },
);

for (const slot of ["sim", "direct"] as const) {
  test(`${slot}: commands under way at once, among kills, never give a wrong answer`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(burst, { maxLength: 4 }),
        fc.nat({ max: 40 }),
        async (all, polls) => {
          const bench = createBench(slot);
          const { owner, script, killAll } = bench;
          for (const die of [0, 1]) await owner.online(die);
          script.pollsPerLaunch = polls;
          for (const steps of all) {
            const asked = steps.map(async (step, index) => {
              for (let turn = 0; turn < index % 4; turn++) await oneTurn();
              if (step.name === "kill") killAll();
              else if (step.name === "work") await owner.work(step.die, step.seed, step.iters);
              else if (step.name === "faultyWork") {
                script.isNextLaunchFaulty = true;
                await owner.work(step.die, 1, 1);
              } else if (step.name === "read") {
                const read = await owner.read(step.die);
                if (read.ok) assert.equal(read.value.pass, true);
              } else if (step.name !== "boardFault") await owner[step.name](step.die);
            });
            await Promise.all(asked);
          }
          script.isNextLaunchFaulty = false;
          await settle(owner);
          for (const die of [0, 1, 2]) {
            assert.ok((await owner.online(die)).ok, `die ${die} comes back`);
            assert.ok((await owner.work(die, 5, 6)).ok);
            const read = await owner.read(die);
            assert.ok(read.ok && read.value.pass, `die ${die} works`);
          }
          assert.equal(script.closedContexts, 0);
          await owner.leave();
        },
      ),
      { numRuns: 15 },
    );
  });
}

test("dies that are not there, and reads of nothing, are refused with the mend named", async () => {
  const { owner } = createBench("sim");
  const cases: readonly (readonly [Promise<{ ok: boolean }>, RegExp])[] = [
    [owner.online(99), /range 0\.\.31/],
    [owner.online(-1), /range 0\.\.31/],
    [owner.online(31), /found: 0\.\.2/],
    [owner.work(0, 1, 1), /run 'online 0' first/],
    [owner.read(0), /run 'online 0' first/],
    [owner.count(), /bring a die online first/],
    [owner.probe(1), /bring a first die online first/],
  ];
  for (const [asked, message] of cases) {
    const answer = (await asked) as { ok: boolean; error?: { message: string } };
    assert.equal(answer.ok, false);
    assert.match(answer.error?.message ?? "", message);
  }
  assert.ok((await owner.online(0)).ok);
  const nothing = await owner.read(0);
  assert.ok(!nothing.ok && nothing.error.code === "no_work");
  await owner.leave();
  const left = await owner.online(0);
  assert.ok(!left.ok && left.error.code === "leaving");
});
