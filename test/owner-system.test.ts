// The owner as its operator has it: real processes, real kernels. On the software GPU by default;
// HOLDFAST_TEST_BACKEND=cuda runs the same on a GPU.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { isRunning } from "./process-state.ts";
import { PROGRAM, ReplProcess } from "./repl-process.ts";

const BACKEND = process.env["HOLDFAST_TEST_BACKEND"] ?? "soft";
const FAULTS = fileURLToPath(new URL("../../test/kernels/faults.ptx", import.meta.url));

function stateDirectory(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-system-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function open(context: TestContext, slot: string, ...more: readonly string[]): ReplProcess {
  const state = stateDirectory(context);
  const flags = [
    "--backend",
    BACKEND,
    "--dies",
    "2",
    "--slot",
    slot,
    "--state-dir",
    state,
    ...more,
  ];
  const owner = new ReplProcess(flags);
  context.after(() => owner.child.kill("SIGKILL"));
  return owner;
}

const count = (lines: readonly string[], pattern: RegExp): number =>
  lines.filter((line) => pattern.test(line)).length;

for (const slot of ["sim", "direct"]) {
  test(`${slot}: work on two dies, a swap, and three reads that pass`, async (context) => {
    const owner = open(context, slot);
    const script =
      "discover\nonline 0\nonline 1\nwork 0 7 100\nwork 1 9 200\nswap 0\nread 0\nread 1\nread 0\n" +
      "count\nstatus\n";
    owner.child.stdin.write(script);
    assert.equal(await owner.quit(), 0);
    assert.equal(count(owner.lines, /\bPASS\b/), 3);
    assert.equal(count(owner.lines, /\bFAIL\b/), 0);
    assert.equal(count(owner.lines, /cuDeviceGetCount = \d+/), 1);
    if (BACKEND === "soft") assert.equal(count(owner.lines, /cuDeviceGetCount = 2/), 1);
  });
}

test("direct: kill -9 of one die's host harms no other die", async (context) => {
  const owner = open(context, "direct");
  for (const die of [0, 1]) await owner.ask(`online ${String(die)}`);
  await owner.ask("work 0 7 100");
  await owner.ask("work 1 9 200");
  process.kill(await owner.hostPid(0), "SIGKILL");
  await owner.until((line) => /die 0: serving again after \d+ ms/.test(line));
  assert.match((await owner.ask("online 0")).join("\n"), /online 0: OK/);
  assert.match((await owner.ask("read 0")).join("\n"), /no result.*SIGKILL.*work 0 7 100/);
  await owner.ask("work 0 3 5");
  assert.match((await owner.ask("read 0")).join("\n"), /read 0: PASS/);
  assert.match((await owner.ask("read 1")).join("\n"), /read 1: PASS/);
  assert.equal(await owner.quit(), 0);
});

test("sim: after kill -9 every die is lost, and comes back on demand", async (context) => {
  const owner = open(context, "sim");
  for (const die of [0, 1]) await owner.ask(`online ${String(die)}`);
  await owner.ask("work 0 7 100");
  await owner.ask("work 1 9 200");
  process.kill(await owner.hostPid(0), "SIGKILL");
  for (const die of [0, 1])
    await owner.until(
      (line) => line.includes(`die ${String(die)}: lost`) && line.includes("SIGKILL"),
    );
  const status = (await owner.ask("status")).join("\n");
  assert.equal(status.match(/state=lost/g)?.length, 2);
  for (const die of [0, 1]) {
    assert.match((await owner.ask(`online ${String(die)}`)).join("\n"), /: OK/);
    await owner.ask(`work ${String(die)} 1 2`);
    assert.match((await owner.ask(`read ${String(die)}`)).join("\n"), /: PASS/);
  }
  assert.equal(await owner.quit(), 0);
});

test("an endless kernel ends at its timeout, and the die works again", async (context) => {
  const owner = open(context, "direct", "--timeout-ms", "1000");
  for (const die of [0, 1]) await owner.ask(`online ${String(die)}`);
  await owner.ask("work 1 9 2");
  // On the software GPU this many additions take minutes; on a GPU they may be done in time.
  await owner.ask("work 0 7 16777215");
  const read = (await owner.ask("read 0")).join("\n");
  assert.match(read, /still running after 1000 ms|read 0: PASS/);
  if (BACKEND === "soft") assert.match(read, /still running after 1000 ms/);
  await owner.ask("work 0 1 1");
  assert.match((await owner.ask("read 0")).join("\n"), /read 0: PASS/);
  assert.match((await owner.ask("read 1")).join("\n"), /read 1: PASS/);
  assert.equal(await owner.quit(), 0);
});

test("run: a kernel that faults, one that never ends, and one that is right", (context) => {
  const state = stateDirectory(context);
  const run = (
    kernel: string,
    ...more: readonly string[]
  ): { code: number | null; text: string } => {
    const shape = ["--kernel", kernel, "--grid", "1", "--block", "1", "--arg", "out:u32[1]"];
    const flags = ["--backend", BACKEND, "--state-dir", state, ...more];
    const done = spawnSync(process.execPath, [PROGRAM, "run", FAULTS, ...shape, ...flags], {
      encoding: "utf8",
    });
    return { code: done.status, text: done.stdout + done.stderr };
  };
  const right = run("store_seven");
  assert.equal(right.code, 0, right.text);
  const fault = run("out_of_bounds");
  assert.match(fault.text, /CUDA_ERROR_ILLEGAL_ADDRESS/);
  assert.equal(fault.code, 4);
  const endless = run("endless", "--timeout-ms", "500");
  assert.match(endless.text, /still running after 500 ms/);
  assert.equal(endless.code, 4);
  assert.equal(run("none_such").code, 2);
});

test("kill -9 of the owner leaves no die host behind", async (context) => {
  const owner = open(context, "direct");
  for (const die of [0, 1]) await owner.ask(`online ${String(die)}`);
  const pids = [await owner.hostPid(0), await owner.hostPid(1)];
  await owner.ask("work 0 7 16777215");
  owner.child.kill("SIGKILL");
  for (let tries = 0; tries < 100 && pids.some(isRunning); tries++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(pids.filter(isRunning), []);
});
