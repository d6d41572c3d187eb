// Step processes as they really are: started, asked, stuck, and left to themselves.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { constants } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../base/mod.ts";
import { isProcessAlive, readProcess } from "./process-state.ts";
import { createStepLauncher } from "./step-process.ts";
import { createStepRunner, type StepRunner } from "./step-runner.ts";
import { addFunction, createSysTree } from "./testing.ts";

const MAIN = fileURLToPath(new URL("../cli/board-step-main.js", import.meta.url));

/** Long for a step that comes back, on a machine that is busy. */
const LONG_MS = 30_000;

const tree = createSysTree();
const runners: StepRunner[] = [];
after(() => {
  for (const runner of runners) runner.end();
  tree.end();
});

function newRunner(idleMs: number | null = null, log: string[] = []): StepRunner {
  const command = [process.execPath, MAIN, "--root", tree.root, "--slot-device", "/dev/null"];
  const runner = createStepRunner({
    launch: createStepLauncher({
      command: command as [string, ...string[]],
      log: (line) => log.push(line),
    }),
    clock: systemClock,
    root: "/",
    idleMs,
  });
  runners.push(runner);
  return runner;
}

async function untilGone(pid: number): Promise<void> {
  while (isProcessAlive("/", pid)) await systemClock.sleep(10);
}

test("one process does several steps; a refusal is a name and a number", async () => {
  const runner = newRunner();
  tree.write("sys/attribute", "before\n");
  addFunction(tree, "0000:05:00.0", { isOffBus: true });
  addFunction(tree, "0000:06:00.0");
  const written = await runner.run("write", { path: "sys/attribute", text: "now\n" }, LONG_MS);
  assert.ok(written.ok);
  const pid = runner.pid();
  assert.deepEqual(await runner.run("read", { path: "sys/attribute" }, LONG_MS), {
    ok: true,
    value: { text: "now" },
  });
  for (const [name, presence] of [
    ["0000:05:00.0", "off_bus"],
    ["0000:06:00.0", "present"],
    ["0000:07:00.0", "unknown"],
  ] as const) {
    const looked = await runner.run("presence", { name }, LONG_MS);
    assert.deepEqual(looked, { ok: true, value: { presence } });
  }
  const missing = await runner.run("write", { path: "sys/none", text: "x" }, LONG_MS);
  assert.ok(!missing.ok && missing.error.kind === "failed");
  assert.equal(missing.error.code, "ENOENT");
  assert.equal(missing.error.errno, constants.errno.ENOENT);
  assert.match(missing.error.message, /^open .*sys\/none: .*ENOENT, errno 2/);
  const slot = await runner.run("slotQuery", {}, LONG_MS);
  assert.ok(!slot.ok && slot.error.kind === "failed" && slot.error.code === "ENOTTY");
  assert.equal(runner.pid(), pid);
});

test("a program's code, signal and words come back; a missing one is ENOENT", async () => {
  const runner = newRunner();
  const sh = (script: string): Promise<unknown> =>
    runner.run("program", { path: "/bin/sh", args: ["-c", script] }, LONG_MS);
  assert.deepEqual(await sh("echo said; echo wrong >&2; exit 3"), {
    ok: true,
    value: { status: 3, signal: null, output: "said\nwrong" },
  });
  assert.deepEqual(await sh("kill -9 $$"), {
    ok: true,
    value: { status: null, signal: "SIGKILL", output: "" },
  });
  const missing = await runner.run("program", { path: "/no/such", args: [] }, LONG_MS);
  assert.ok(!missing.ok && missing.error.kind === "failed" && missing.error.code === "ENOENT");
});

test("a step that hangs is left behind by name, and the next has a new process", async () => {
  const runner = newRunner();
  // To open a FIFO that nobody reads is a call that does not come back.
  execFileSync("mkfifo", [join(tree.root, "fifo")]);
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  const pid = runner.pid();
  assert.ok(pid !== null);
  const stuck = await runner.run("write", { path: "fifo", text: "x" }, 300);
  assert.ok(!stuck.ok && stuck.error.kind === "hung");
  assert.equal(stuck.error.stuck?.pid, pid);
  assert.match(stuck.error.message, /^write did not come back within 300 ms and is left behind: /);
  assert.match(stuck.error.message, new RegExp(`pid ${pid} \\(\\S+\\), state S`));
  await untilGone(pid);
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  assert.notEqual(runner.pid(), pid);
});

test("what a step has started is named, and ended with it", async () => {
  const runner = newRunner();
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  const script = 'echo $$ >"$0"; exec sleep 600';
  const args = ["-c", script, join(tree.root, "sleeper")];
  const stuck = await runner.run("program", { path: "/bin/sh", args }, 1000);
  assert.ok(!stuck.ok && stuck.error.kind === "hung");
  const sleeper = /pid (\d+) \(sleep\), state S/.exec(stuck.error.message)?.[1];
  assert.ok(sleeper !== undefined, stuck.error.message);
  await untilGone(Number(sleeper));
});

test("a step is stuck as long as anything that it started lives, though it has ended", async () => {
  const runner = newRunner();
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  const pid = runner.pid();
  assert.ok(pid !== null);
  // Out of reach of our signal, as a modprobe is that sits in the kernel.
  const args = ["-c", "setsid sleep 600 & wait"];
  const hung = await runner.run("program", { path: "/bin/sh", args }, 2000);
  assert.ok(!hung.ok && hung.error.kind === "hung" && hung.error.stuck !== null);
  const { stuck } = hung.error;
  await untilGone(pid);
  assert.equal(readProcess("/", stuck.pid)?.command, "sleep");
  assert.ok(isProcessAlive("/", stuck.pid, stuck.startTicks));
  assert.deepEqual(runner.stuckPids(), [stuck.pid]);
  process.kill(stuck.pid, "SIGKILL");
  await untilGone(stuck.pid);
  assert.deepEqual(runner.stuckPids(), []);
});

test("an idle process ends, and so does one whose owner is gone", async () => {
  const runner = newRunner(50);
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  const pid = runner.pid();
  assert.ok(pid !== null);
  await untilGone(pid);
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);

  // An owner that is killed says nothing to anybody: its end of the pipe closes.
  const script = `
    const { spawn } = require("child_process");
    const words = [${JSON.stringify(MAIN)}, "--root", "/"];
    const child = spawn(process.execPath, words, { detached: true });
    const question = { id: 1, call: "read", body: { path: "proc/version" } };
    child.stdin.write(JSON.stringify(question) + "\\n");
    child.stdout.once("data", () => {
      console.log(child.pid);
      process.kill(process.pid, "SIGKILL");
    });`;
  let output = "";
  try {
    execFileSync(process.execPath, ["-e", script], { encoding: "utf8" });
  } catch (error) {
    output = (error as { readonly stdout: string }).stdout;
  }
  const orphan = Number(output);
  assert.ok(orphan > 0, output);
  await untilGone(orphan);
});

test("a process that is killed in a step, or never was, is told of", async () => {
  const runner = newRunner();
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  const pid = runner.pid();
  assert.ok(pid !== null);
  const asked = runner.run("program", { path: "/bin/sleep", args: ["600"] }, LONG_MS);
  process.kill(pid, "SIGKILL");
  const ended = await asked;
  assert.ok(!ended.ok && ended.error.kind === "ended");
  assert.match(ended.error.message, new RegExp(`step process ${pid} was killed by SIGKILL`));
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);

  const launch = createStepLauncher({ command: ["/no/such/program"], log: () => undefined });
  const never = createStepRunner({ launch, clock: systemClock, root: "/", idleMs: null });
  const failed = await never.run("read", { path: "x" }, LONG_MS);
  assert.ok(!failed.ok && failed.error.kind === "ended");
  assert.match(failed.error.message, /did not start: .*ENOENT/);
});

test("after its end a runner starts nothing, and a step in flight is told", async () => {
  const runner = newRunner();
  assert.ok((await runner.run("read", { path: "sys/attribute" }, LONG_MS)).ok);
  const pid = runner.pid();
  const asked = runner.run("program", { path: "/bin/sleep", args: ["600"] }, LONG_MS);
  await systemClock.turn();
  runner.end();
  for (const failed of [await asked, await runner.run("read", { path: "x" }, LONG_MS)]) {
    assert.ok(!failed.ok && failed.error.kind === "ended");
  }
  assert.equal(runner.pid(), null);
  assert.ok(pid !== null);
  await untilGone(pid);
});
