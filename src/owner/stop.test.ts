// The levels of stopping, over in-process die hosts: what ends, what is refused, what is left.
import assert from "node:assert/strict";
import { test } from "node:test";

import { systemClock, VirtualClock, type EventClock } from "../base/mod.ts";
import { createDirectBoard, createSimBoard, type Board, type SimStep } from "../board/mod.ts";
import type { HostLauncher } from "./host-link.ts";
import { noJournal } from "./journal.ts";
import { createOwner } from "./owner.ts";
import type { Owner, OwnerRefusal } from "./reports.ts";
import { LEAVE_WAIT_MS } from "./stop.ts";
import { createFakeLauncher, createFakeScript, type FakeGpuScript } from "./testing.ts";
import type { Result } from "../base/mod.ts";

const DIES = 2;

type Bench = {
  readonly owner: Owner;
  readonly script: FakeGpuScript;
  readonly steps: SimStep[];
  /** What happened, in order: kernels, contexts, hosts, the board's end. */
  readonly events: string[];
  readonly lines: string[];
  readonly alive: () => number;
  readonly killAll: () => void;
};

type BenchOptions = {
  readonly slot: "sim" | "direct";
  readonly workTimeoutMs?: number;
  readonly clock?: EventClock;
  readonly wrap?: (launch: HostLauncher) => HostLauncher;
};

function createBench({ slot, ...options }: BenchOptions): Bench {
  const { clock = systemClock, workTimeoutMs = 10_000, wrap } = options;
  const script = createFakeScript();
  const { launch, alive, killAll } = createFakeLauncher(script, DIES);
  const [steps, events, lines]: [SimStep[], string[], string[]] = [[], [], []];
  script.onLaunch = ({ kernel }): void => void events.push(kernel.name);
  const fault = (step: SimStep): null => {
    steps.push(step);
    return null;
  };
  const inner: Board =
    slot === "direct"
      ? createDirectBoard({ dies: null })
      : createSimBoard({ dies: DIES, clock, fault });
  const leave = (): void => void events.push(`board left, ${String(alive())} hosts alive`);
  const owner = createOwner({
    board: { ...inner, leave },
    launchHost: wrap?.(launch) ?? launch,
    baseModule: { name: "base.ptx", path: import.meta.filename },
    log: (line) => void lines.push(line),
    journal: noJournal,
    clock,
    windowPolicy: { minimumHoldMs: 0, maximumWaitMs: 50 },
    workTimeoutMs,
    workElements: 1024,
  });
  return { owner, script, steps, events, lines, alive, killAll };
}

function granted<T>(result: Result<T, OwnerRefusal>): T {
  assert.ok(result.ok, result.ok ? "" : result.error.message);
  return result.value;
}

const codeOf = (result: Result<unknown, OwnerRefusal>): string =>
  result.ok ? "ok" : result.error.code;

async function bringAllUp({ owner }: Bench): Promise<void> {
  for (let die = 0; die < DIES; die++) granted(await owner.online(die));
}

for (const slot of ["sim", "direct"] as const) {
  test(`${slot}: a drain refuses new work, and ends when what was accepted has`, async () => {
    const bench = createBench({ slot });
    const { owner, script } = bench;
    await bringAllUp(bench);
    script.heldKernel = "slow_add";
    granted(await owner.work(0, 1, 2));
    // Behind a window this one waits until the first has ended: accepted all the same.
    const waits = owner.work(1, 3, 4);
    if (slot === "direct") await waits;
    const drained = owner.drain();
    const again = owner.drain();
    assert.equal((await owner.status()).mode, "draining");
    for (const refused of [
      await owner.work(0, 1, 2),
      await owner.online(0),
      await owner.swap(1),
      await owner.probe(1),
    ]) {
      assert.equal(codeOf(refused), "draining");
    }
    script.heldKernel = null;
    granted(await waits);
    const report = await drained;
    assert.deepEqual([report.mode, report.endedBadly, report.left.length], ["drained", 0, 0]);
    assert.ok(report.endedOk >= 2, "both kernels at least");
    assert.deepEqual(await again, report);
    for (const die of [0, 1]) assert.equal(granted(await owner.read(die)).pass, true);
    owner.resume();
    granted(await owner.work(0, 1, 2));
    assert.equal(granted(await owner.read(0)).pass, true);
    await owner.leave();
  });

  test(`${slot}: parked, no die is touched; resumed, nothing was lost`, async () => {
    const bench = createBench({ slot });
    const { owner, events, steps } = bench;
    await bringAllUp(bench);
    granted(await owner.work(0, 1, 2));
    assert.equal((await owner.park()).mode, "parked");
    const [launches, moves] = [events.length, steps.length];
    const status = await owner.status();
    assert.deepEqual([status.mode, status.dies.length], ["parked", DIES]);
    for (const refused of [
      await owner.read(0),
      await owner.work(0, 1, 2),
      await owner.swap(1),
      await owner.count(),
      await owner.discover(),
    ]) {
      assert.equal(codeOf(refused), "parked");
    }
    assert.deepEqual([events.length, steps.length], [launches, moves], "no probe, no step");
    owner.resume();
    assert.equal(granted(await owner.read(0)).pass, true);
    await owner.status();
    assert.ok(events.length > launches, "and status probes again");
    await owner.leave();
  });
}

test("a job that comes while the owner drains is refused by name, untouched", async () => {
  const bench = createBench({ slot: "direct" });
  await bringAllUp(bench);
  await bench.owner.drain();
  const module = { name: "base.ptx", path: import.meta.filename };
  const shape = { grid: [1, 1, 1], block: [32, 1, 1], sharedBytes: 0 } as const;
  const job = { module, entry: "probe", ...shape, arguments: [], timeoutMs: 1000 };
  const result = await bench.owner.run(0, job);
  assert.ok(result.status === "refused" && result.cause.name === "draining");
  await bench.owner.leave();
});

test("an endless kernel outlasts a drain's own time, and ends at its timeout", async () => {
  const bench = createBench({ slot: "direct", workTimeoutMs: 300 });
  const { owner, script, lines } = bench;
  await bringAllUp(bench);
  script.isNextLaunchEndless = true;
  granted(await owner.work(0, 1, 2));
  const early = await owner.drain(20);
  assert.deepEqual([early.mode, early.left], ["draining", ["the kernel on die 0"]]);
  const report = await owner.drain();
  assert.deepEqual([report.mode, report.endedBadly], ["drained", 1]);
  assert.ok(lines.includes("drain: the kernel on die 0 ended badly"), lines.join("\n"));
  // Nobody waits for the die, so it is not brought back before the owner serves again.
  assert.equal((await owner.status()).dies[0]?.state, "faulted");
  owner.resume();
  assert.equal(granted(await owner.online(0)).die, 0);
  await owner.leave();
});

test("resume ends a drain and a park that are under way", async () => {
  const bench = createBench({ slot: "direct" });
  const { owner, script } = bench;
  await bringAllUp(bench);
  script.heldKernel = "slow_add";
  granted(await owner.work(0, 1, 2));
  const [drained, parked] = [owner.drain(), owner.park()];
  owner.resume();
  assert.deepEqual([(await drained).mode, (await parked).mode], ["serving", "serving"]);
  script.heldKernel = null;
  assert.equal(granted(await owner.read(0)).pass, true);
  granted(await owner.swap(1));
  await owner.leave();
});

test("direct: a teardown frees everything, and the hosts end by themselves with 0", async () => {
  const bench = createBench({ slot: "direct" });
  const { owner, script, alive } = bench;
  await bringAllUp(bench);
  granted(await owner.work(0, 1, 2));
  const freed = script.freedBuffers;
  const report = granted(await owner.teardown());
  assert.deepEqual(
    report.dies.map(({ die, modules, buffers }) => [die, modules, buffers]),
    [0, 1].map((die) => [die, 1, 3]),
    "input, output and the probe's",
  );
  assert.equal(script.freedBuffers - freed, 6);
  assert.deepEqual([script.openedContexts, script.closedContexts], [DIES, DIES]);
  assert.deepEqual(
    report.hosts.map(({ end }) => end),
    ["ended with code 0", "ended with code 0"],
  );
  assert.equal(alive(), 0);
  const status = await owner.status();
  assert.deepEqual(
    status.dies.map(({ state, lastCause }) => [state, lastCause]),
    [0, 1].map(() => ["discovered", null]),
  );
  assert.equal(codeOf(await owner.online(0)), "parked");
  owner.resume();
  const read = await owner.read(0);
  assert.ok(!read.ok && /torn down/.test(read.error.message));
  assert.equal(codeOf(await owner.work(1, 1, 2)), "not_online");
  granted(await owner.online(0));
  granted(await owner.work(0, 5, 6));
  assert.equal(granted(await owner.read(0)).pass, true);
  await owner.leave();
});

test("sim: a teardown is refused with the reason, and nothing has changed", async () => {
  const bench = createBench({ slot: "sim" });
  await bringAllUp(bench);
  const refused = await bench.owner.teardown();
  assert.ok(!refused.ok && refused.error.code === "not_possible");
  assert.match(refused.error.message, /behind a window.*'exit'/);
  assert.equal((await bench.owner.status()).mode, "serving");
  assert.equal(bench.script.closedContexts, 0);
  await bench.owner.leave();
});

for (const slot of ["sim", "direct"] as const) {
  test(`${slot}: leave ends the hosts first and the board after them, once`, async () => {
    const bench = createBench({ slot });
    const { owner, script, events } = bench;
    await bringAllUp(bench);
    script.isNextLaunchEndless = true;
    granted(await owner.work(0, 1, 2));
    const waits = slot === "sim" ? owner.work(1, 1, 2) : null;
    await Promise.all([owner.leave(), owner.leave()]);
    assert.equal(events.at(-1), "board left, 0 hosts alive");
    assert.equal(events.filter((event) => event.startsWith("board left")).length, 1);
    assert.equal(script.closedContexts, 0, "nothing is destroyed");
    if (waits !== null) assert.match(codeOf(await waits), /leaving|die_failed/);
    assert.equal(codeOf(await owner.online(0)), "leaving");
  });
}

test("leave waits only so long for a host that is stuck in the kernel", async () => {
  const clock = new VirtualClock();
  const stuck: HostLauncher = () => ({
    ...{ pid: 77, write: () => undefined, onData: () => undefined, onEnd: () => undefined },
    kill: () => undefined,
  });
  const bench = createBench({ slot: "direct", clock, wrap: () => stuck });
  void bench.owner.discover();
  let hasLeft = false;
  void bench.owner.leave().then(() => (hasLeft = true));
  assert.equal(await clock.run(() => hasLeft, LEAVE_WAIT_MS - 1), "late");
  assert.equal(await clock.run(() => hasLeft, LEAVE_WAIT_MS), "done");
  assert.match(bench.lines.at(-1) ?? "", /die host 77 is stuck/);
  assert.match(bench.events.at(-1) ?? "", /^board left/);
});
