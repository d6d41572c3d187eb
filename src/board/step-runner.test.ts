import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../base/mod.ts";
import { createStepRunner, type StepRunner } from "./step-runner.ts";
import { createTreeKernel, type TreeKernel } from "./testing-kernel.ts";
import { addProcess, createSysTree, type SysTree } from "./testing.ts";

type Bench = {
  readonly tree: SysTree;
  readonly kernel: TreeKernel;
  readonly clock: VirtualClock;
  readonly runner: StepRunner;
  readonly settled: <T>(promise: Promise<T>) => Promise<T>;
};

async function withBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  const tree = createSysTree();
  const clock = new VirtualClock();
  const kernel = createTreeKernel(tree, ["0000:05:00.0"]);
  const { launch } = kernel;
  const runner = createStepRunner({ launch, clock, root: tree.root, idleMs: 5000 });
  const settled = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false;
    void promise.then(() => (isDone = true));
    assert.equal(await clock.run(() => isDone, Infinity), "done");
    return promise;
  };
  tree.write("file", "text\n");
  try {
    await body({ tree, kernel, clock, runner, settled });
  } finally {
    tree.end();
  }
}

test("steps wait for their turn, and each has its own time", async () => {
  await withBench(async ({ kernel, clock, runner, settled }) => {
    kernel.faults = { hangs: ({ body }) => "path" in (body as object) && isStuck(body) };
    const first = runner.run("read", { path: "stuck" }, 1000);
    const second = runner.run("read", { path: "file" }, 1000);
    assert.equal(kernel.steps.length, 0);
    const [hung, read] = await settled(Promise.all([first, second]));
    assert.ok(!hung.ok && hung.error.kind === "hung");
    assert.deepEqual(read, { ok: true, value: { text: "text" } });
    assert.deepEqual(kernel.steps, ['read "stuck"', 'read "file"']);
    assert.equal(clock.nowMs(), 1000);
    assert.deepEqual(kernel.counts, { launched: 2, abandoned: 1, closed: 0 });
  });
});

const isStuck = (body: unknown): boolean => (body as { path: string }).path === "stuck";

test("an idle process is let go once, and not while steps come", async () => {
  await withBench(async ({ kernel, clock, runner, settled }) => {
    for (let time = 1; time <= 3; time++) {
      assert.ok((await settled(runner.run("read", { path: "file" }, 1000))).ok);
      await settled(clock.sleep(4000));
    }
    assert.deepEqual(kernel.counts, { launched: 1, abandoned: 0, closed: 0 });
    await settled(clock.sleep(1001));
    assert.deepEqual(kernel.counts, { launched: 1, abandoned: 0, closed: 1 });
    assert.equal(runner.pid(), null);
    assert.ok((await settled(runner.run("read", { path: "file" }, 1000))).ok);
    assert.equal(kernel.counts.launched, 2);
  });
});

test("no more processes are left behind than a few, until some of them are gone", async () => {
  await withBench(async ({ tree, kernel, runner, settled }) => {
    kernel.faults = { hangs: ({ body }) => isStuck(body) };
    for (let time = 0; time < 8; time++) {
      tree.write(`proc/${70_001 + time}/stat`, `${70_001 + time} (node) D 1 1 1 0`);
      const hung = await settled(runner.run("read", { path: "stuck" }, 10));
      assert.ok(!hung.ok && hung.error.kind === "hung");
      assert.match(hung.error.message, /pid 7000\d \(node\), state D/);
    }
    const refused = await settled(runner.run("read", { path: "file" }, 10));
    assert.ok(!refused.ok && refused.error.kind === "failed");
    assert.match(refused.error.message, /8 step processes are stuck .*restarted/);
    assert.equal(kernel.counts.launched, 8);
    tree.remove("proc/70003");
    assert.ok((await settled(runner.run("read", { path: "file" }, 10))).ok);
  });
});

test("a program that hangs counts as stuck after its step process has ended", async () => {
  await withBench(async ({ tree, kernel, runner, settled }) => {
    kernel.faults = { hangs: ({ body }) => isStuck(body) };
    addProcess(tree, { pid: 70_001, command: "node", startTicks: 900, open: [] });
    const modprobe = { pid: 80_000, parentPid: 70_001, session: 70_001, startTicks: 901 };
    addProcess(tree, { ...modprobe, command: "modprobe", state: "D", open: [] });
    const hung = await settled(runner.run("read", { path: "stuck" }, 10));
    assert.ok(!hung.ok && hung.error.kind === "hung");
    assert.deepEqual(hung.error.stuck, { pid: 80_000, startTicks: 901 });
    // What is in the middle of a call of the kernel outlives SIGKILL, and its parent.
    tree.remove("proc/70001");
    assert.deepEqual(runner.stuckPids(), [80_000]);
    addProcess(tree, { pid: 80_000, command: "cron", startTicks: 5000, open: [] });
    assert.deepEqual(runner.stuckPids(), [], "its number is another's by now");
  });
});

test("to leave ends a step at once, but not a move of the slot in its middle", async () => {
  for (const [call, body, counts] of [
    ["read", { path: "stuck" }, { launched: 1, abandoned: 1, closed: 0 }],
    ["slotMove", { from: null, to: 0 }, { launched: 1, abandoned: 0, closed: 1 }],
  ] as const) {
    await withBench(async ({ kernel, runner, settled }) => {
      kernel.faults = { hangs: () => true };
      const step = runner.run(call, body, 1000);
      await settled(Promise.resolve());
      runner.end();
      const ended = await settled(step);
      assert.ok(!ended.ok && ended.error.kind === "ended");
      assert.deepEqual(kernel.counts, counts);
    });
  }
});

test("a process that starts slowly is not said to hang, and one that never starts is", async () => {
  await withBench(async ({ kernel, clock, runner, settled }) => {
    kernel.startsWhen = clock.sleep(20_000);
    assert.ok((await settled(runner.run("read", { path: "file" }, 1000))).ok);
    assert.equal(clock.nowMs(), 20_000);
  });
  await withBench(async ({ kernel, clock, runner, settled }) => {
    kernel.startsWhen = new Promise(() => undefined);
    const hung = await settled(runner.run("read", { path: "file" }, 1000));
    assert.ok(!hung.ok && hung.error.kind === "hung");
    assert.equal(clock.nowMs(), 61_000);
  });
});
