// The levels of stopping as an operator has them: real processes, real kernels, real signals. On
// the software GPU by default; HOLDFAST_TEST_BACKEND=cuda runs the same on a GPU.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { isRunning } from "./process-state.ts";
import { ReplProcess } from "./repl-process.ts";

const BACKEND = process.env["HOLDFAST_TEST_BACKEND"] ?? "soft";

/** More additions than any test waits for on the software GPU; a GPU may be done in time. */
const ENDLESS_ITERS = 16_777_215;

/** How often a process that must be gone is looked for, 50 ms apart. */
const LOOKS_MAX = 200;

function stateDirectory(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-stop-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

type Site = { readonly state: string; readonly slot: "direct" | "sim" };

function open(context: TestContext, { state, slot }: Site, ...more: string[]): ReplProcess {
  const flags = ["--backend", BACKEND, "--dies", "2", "--slot", slot, "--state-dir", state];
  const owner = new ReplProcess([...flags, ...more]);
  context.after(() => owner.child.kill("SIGKILL"));
  return owner;
}

/** Two dies online; the process ids of their hosts. */
async function bringUp(owner: ReplProcess): Promise<readonly number[]> {
  for (const die of [0, 1]) {
    assert.match((await owner.ask(`online ${String(die)}`)).join("\n"), /: OK/);
  }
  return [await owner.hostPid(0), await owner.hostPid(1)];
}

const exitOf = (owner: ReplProcess): Promise<number | null> =>
  new Promise((resolve) => {
    if (owner.child.exitCode === null) owner.child.once("close", resolve);
    else resolve(owner.child.exitCode);
  });

async function goneOf(pids: readonly number[]): Promise<readonly number[]> {
  for (let look = 0; look < LOOKS_MAX && pids.some(isRunning); look++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return pids.filter((pid) => !isRunning(pid));
}

test("direct: teardown ends the die hosts by themselves; dies come back", async (context) => {
  const owner = open(context, { state: stateDirectory(context), slot: "direct" });
  const pids = await bringUp(owner);
  await owner.ask("work 0 7 100");
  const lines = (await owner.ask("teardown")).join("\n");
  assert.match(lines, /teardown: OK \(dies=2 modules=2 buffers=\d+ bytes=\d+ hosts=2 /);
  for (const pid of pids) assert.match(lines, new RegExp(`die host ${pid} ended with code 0`));
  assert.deepEqual(await goneOf(pids), pids, "and their memory with them");
  const status = (await owner.ask("status")).join("\n");
  assert.match(status, /mode=parked/);
  assert.equal(status.match(/online=0 .*state=discovered/g)?.length, 2);
  assert.match((await owner.ask("online 0")).join("\n"), /parked.*'resume'/);
  assert.match((await owner.ask("resume")).join("\n"), /resume: OK \(mode=serving\)/);
  assert.match((await owner.ask("read 0")).join("\n"), /no result.*torn down.*work 0 7 100/);
  assert.match((await owner.ask("online 0")).join("\n"), /online 0: OK/);
  await owner.ask("work 0 1 2");
  assert.match((await owner.ask("read 0")).join("\n"), /read 0: PASS/);
  assert.equal(await owner.quit(), 0);
});

test("sim: teardown is refused; park and resume lose nothing", async (context) => {
  const owner = open(context, { state: stateDirectory(context), slot: "sim" });
  const [pid] = await bringUp(owner);
  await owner.ask("work 0 7 100");
  await owner.ask("work 1 9 200");
  assert.match((await owner.ask("teardown")).join("\n"), /nothing is torn down behind a window/);
  assert.match((await owner.ask("park")).join("\n"), /park: OK \(mode=parked .*left=0 /);
  assert.match((await owner.ask("read 0")).join("\n"), /read 0: the owner is parked/);
  assert.match((await owner.ask("work 0 1 2")).join("\n"), /work 0: the owner is parked/);
  await owner.ask("resume");
  for (const die of [0, 1]) {
    assert.match((await owner.ask(`read ${String(die)}`)).join("\n"), /: PASS/);
  }
  assert.equal(await owner.hostPid(0), pid, "the same host all along");
  assert.equal(await owner.quit(), 0);
});

test("drain takes no work, lets what runs end, and its results be read", async (context) => {
  const owner = open(context, { state: stateDirectory(context), slot: "sim" });
  await bringUp(owner);
  await owner.ask("work 0 7 1000");
  assert.match((await owner.ask("drain")).join("\n"), /drain: OK \(mode=drained .*left=0 /);
  assert.match((await owner.ask("work 0 1 2")).join("\n"), /work 0: .*takes no further work/);
  assert.match((await owner.ask("read 0")).join("\n"), /read 0: PASS/);
  assert.equal(await owner.quit(), 0);
});

test("SIGTERM: an endless kernel ends at its timeout, then all", async (context) => {
  const site = { state: stateDirectory(context), slot: "direct" } as const;
  const owner = open(context, site, "--timeout-ms", "1500");
  const pids = await bringUp(owner);
  await owner.ask(`work 0 7 ${String(ENDLESS_ITERS)}`);
  owner.child.kill("SIGTERM");
  assert.equal(await exitOf(owner), 0);
  const lines = owner.lines.join("\n");
  const order = /SIGTERM: leaving once[^]*the kernel on die 0 ended[^]*SIGTERM: leaving REPL/;
  assert.match(lines, order);
  assert.equal(owner.lines.at(-1), "owner REPL exiting");
  assert.deepEqual(await goneOf(pids), pids);
});

test("a second signal leaves at once, and no die host stays behind", async (context) => {
  const owner = open(context, { state: stateDirectory(context), slot: "direct" });
  const pids = await bringUp(owner);
  await owner.ask(`work 0 7 ${String(ENDLESS_ITERS)}`);
  owner.child.kill("SIGTERM");
  await owner.until((line) => line.startsWith("SIGTERM: leaving once"));
  if (BACKEND === "soft") assert.equal(owner.child.exitCode, null, "it waits for the kernel");
  owner.child.kill("SIGTERM");
  const code = await exitOf(owner);
  if (BACKEND === "soft") {
    assert.equal(code, 143, "not what a drain ends with");
    const last = owner.lines.slice(owner.lines.indexOf("SIGTERM, the second: leaving at once"));
    assert.equal(last.length, 3, last.join("\n"));
    assert.match(last[1] ?? "", /^SIGTERM: leaving REPL/);
    assert.equal(last[2], "owner REPL exiting");
  }
  assert.deepEqual(await goneOf(pids), pids);
});

test("kill -9 costs the unread results on the dies, and nothing else", async (context) => {
  const site = { state: stateDirectory(context), slot: "sim" } as const;
  const first = open(context, site);
  const pids = await bringUp(first);
  assert.match((await first.ask("work 0 7 100")).join("\n"), /work 0: launched/);
  first.child.kill("SIGKILL");
  await exitOf(first);
  assert.deepEqual(await goneOf(pids), pids);
  const second = open(context, site);
  assert.match((await second.ask("read 0")).join("\n"), /die not online; run 'online 0' first/);
  await bringUp(second);
  assert.match((await second.ask("read 0")).join("\n"), /nothing to read; run 'work 0/);
  await second.ask("work 0 7 100");
  assert.match((await second.ask("read 0")).join("\n"), /read 0: PASS/);
  assert.equal(await second.quit(), 0);
});
