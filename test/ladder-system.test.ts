// `holdfast ladder` as its operator has it: real processes, killed in rungs, and a journal whose
// machine was reset.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";

import { parseJournal } from "../src/owner/mod.ts";
import { PROGRAM } from "./repl-process.ts";

const BACKEND = process.env["HOLDFAST_TEST_BACKEND"] ?? "soft";

/** Long for a ladder on a busy machine. */
const TIMEOUT_MS = 60_000;

function stateDirectory(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-ladder-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const wordsOf = (state: string, more: readonly string[]): readonly string[] => [
  ...[PROGRAM, "ladder", "--backend", BACKEND, "--dies", "2", "--state-dir", state, ...more],
];

type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

function run(state: string, ...more: readonly string[]): Run {
  const { status, stdout, stderr } = spawnSync(process.execPath, wordsOf(state, more), {
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  return { code: status, stdout, stderr };
}

/** Starts a ladder that takes its time, and ends it by SIGKILL once it logs this. */
async function killAt(state: string, line: RegExp): Promise<void> {
  const words = wordsOf(state, ["--slot", "sim", "--pause-ms", "300"]);
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
  const closed = new Promise((resolve) => child.once("close", resolve));
  let isSeen = false;
  createInterface({ input: child.stderr }).on("line", (text) => {
    if (!line.test(text) || isSeen) return;
    isSeen = true;
    child.kill("SIGKILL");
  });
  await closed;
  assert.ok(isSeen, "the rung came");
}

const journalOf = (state: string): string => join(state, "bring-up.journal");

type Row = { readonly die: number; readonly step: string; readonly outcome: string };

for (const slot of ["sim", "direct"] as const) {
  test(`${slot}: every rung of two dies, as a table and as JSON`, (context) => {
    const state = stateDirectory(context);
    const table = run(state, "--slot", slot);
    assert.equal(table.code, 0, table.stderr);
    assert.match(table.stdout, /^die {2}address +rung +outcome +ms +detail\n/);
    assert.match(table.stdout, /\n1 +\S+ +read +done +[\d.]+ +1048576 elements right\n/);
    assert.match(table.stdout, /\nladder: complete; dies that answer: 0, 1\n$/);
    assert.equal(/ bind +done/.test(table.stdout), slot === "sim");
    const json = run(state, "--slot", slot, "--json", "--until", "module");
    assert.equal(json.code, 0, json.stderr);
    const report = JSON.parse(json.stdout) as { slot: string; outcome: string; rows: Row[] };
    assert.deepEqual([report.slot, report.outcome], [slot, "stopped"]);
    assert.deepEqual([report.rows.at(-1)?.step, report.rows.at(-1)?.outcome], ["module", "done"]);
  });
}

for (const [step, die, line] of [
  ["acquire", 0, /die 0: acquiring the slot/],
  ["load-driver", 0, /die 0: loading nvidia/],
  ["context", 0, /die 0: creating a context/],
  ["bind", 1, /die 1: >>> binding it/],
] as const) {
  test(`kill -9 in ${step} of die ${String(die)}: it is named, and climbed`, async (context) => {
    const state = stateDirectory(context);
    await killAt(state, line);
    const last = parseJournal(readFileSync(journalOf(state), "utf8")).at(-1);
    assert.deepEqual([last?.step, last?.die, last?.phase], [step, die, "begin"]);
    const again = run(state, "--slot", "sim", "--until", step);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, new RegExp(`journal: die ${String(die)}.*\\(${step}\\).*was ended`));
    assert.match(again.stdout, /\nladder: stopped/);
  });
}

test("a machine that was reset in a rung: held back, and climbed with --retry", async (context) => {
  const state = stateDirectory(context);
  await killAt(state, /die 1: >>> binding it/);
  const path = journalOf(state);
  const bootOf = /"boot":"[^"]*"/g;
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(bootOf, '"boot":"an-earlier-one"'));

  const held = run(state, "--slot", "sim");
  assert.equal(held.code, 4, held.stderr);
  assert.match(
    held.stdout,
    /\n1 +\S+ +bind +refused .*machine was reset.*holdfast doctor.*--retry/,
  );
  assert.match(held.stdout, /\nto try for die 1, bind: /);
  assert.match(held.stdout, /\nladder: failed; dies that answer: 0\n$/);
  const prompt = spawnSync(
    process.execPath,
    [PROGRAM, "owner", "--slot", "sim", "--backend", BACKEND, "--state-dir", state],
    { input: "online 0\nonline 1\nretry 1\nretry 1\nonline 1\nquit\n", encoding: "utf8" },
  );
  assert.match(prompt.stdout, /online 1: die 1: binding it to nvidia \(bind\) was under way/);
  assert.match(prompt.stdout, /retry 1: OK rungs=bind \(host_reset\)/);
  assert.match(prompt.stdout, /retry 1: nothing was held back/);
  assert.match(prompt.stdout, /online 1: OK/);

  const after = run(state, "--slot", "sim", "--until", "bind");
  assert.equal(after.code, 0, "that it was climbed since is in the journal");
});

test("--retry climbs what was held back, and says so", async (context) => {
  const state = stateDirectory(context);
  await killAt(state, /die 0: loading nvidia/);
  const path = journalOf(state);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(/"boot":"[^"]*"/g, '"boot":"x"'));
  const held = run(state, "--slot", "sim", "--until", "load-driver", "--json");
  assert.equal(held.code, 4, held.stderr);
  const report = JSON.parse(held.stdout) as { advice: { step: string; try: string }[] };
  assert.equal(report.advice[0]?.step, "load-driver");
  const retried = run(state, "--slot", "sim", "--until", "load-driver", "--retry");
  assert.equal(retried.code, 0, retried.stderr);
  assert.match(retried.stderr, /die 0: load-driver was held back, and is tried again/);
});

test("what is no rung is refused with those that are", (context) => {
  const refused = run(stateDirectory(context), "--until", "blink");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /--until: 'blink' is none of discover, acquire/);
});
