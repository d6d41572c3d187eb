// The ladder over a scripted board, in virtual time: its order, where it ends, and how it goes on.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { BoardFailure } from "../board/mod.ts";
import { BRING_UP_STEPS, type BringUpStep, type JournalLine } from "./journal.ts";
import type { LadderReport } from "./reports.ts";
import { createBoardBench, type BoardBench } from "./testing-board.ts";

const climb = (
  bench: BoardBench,
  until: BringUpStep | null = null,
  pauseMs = 0,
): Promise<LadderReport> => bench.take(bench.owner.ladder({ until, pauseMs }));

const shortOf = ({ rows }: LadderReport): readonly string[] =>
  rows.map(
    ({ die, step, outcome }) => `${step} ${String(die)}${outcome === "done" ? "" : ` ${outcome}`}`,
  );

const RESIDENT = ["initialise", "ordinals", "context", "module", "buffers", "probe"];

const hung = (more: Partial<BoardFailure> = {}): BoardFailure => ({
  verdict: "hung",
  call: "bind",
  message: "it did not come back within 60 s; process 4711 is left to itself",
  stepPid: 4711,
  stepStartTicks: 70,
  ...more,
});

test("the rungs of two dies, in their order, each journalled before it runs", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 2 });
  const report = await climb(bench);
  assert.equal(report.outcome, "complete");
  assert.deepEqual(report.online, [0, 1]);
  assert.deepEqual(shortOf(report), [
    ...["discover", "acquire", "block-all-except", "load-driver"].map((step) => `${step} 0`),
    ...[...RESIDENT, "work", "read"].map((step) => `${step} 0`),
    ...["acquire 1", "unblock 1", "bind 1", "initialise 1 skipped"],
    ...["ordinals", "context", "module", "buffers", "probe", "work", "read"].map((s) => `${s} 1`),
    ...["swap 0", "swap 1", "swap 0", "swap 1"],
  ]);
  const begun = bench.entries.filter(({ phase }) => phase === "begin").map(({ step }) => step);
  assert.deepEqual(
    begun.filter((step) => step === "bind"),
    ["bind"],
  );
  assert.equal(bench.entries.find(({ step }) => step === "bind")?.address, "0000:06:00.0");
  for (const { elapsedMs } of report.rows) assert.ok(elapsedMs >= 0);
});

test("on a direct board nothing is acquired or bound, and that is said", async () => {
  const bench = createBoardBench({ slot: "direct", dies: 1 });
  const report = await climb(bench);
  assert.deepEqual(shortOf(report).slice(0, 4), [
    ...["discover 0", "acquire 0 skipped", "load-driver 0 skipped", "initialise 0"],
  ]);
  assert.equal(report.outcome, "complete");
  assert.deepEqual(bench.script.steps, []);
});

for (const until of BRING_UP_STEPS) {
  test(`--until ${until} ends after it, and the next run goes on from there`, async () => {
    const first = createBoardBench({ slot: "sim", dies: 2 });
    const report = await climb(first, until);
    const last = report.rows.at(-1);
    assert.deepEqual([last?.step, last?.outcome], [until, "done"]);
    assert.equal(report.outcome, until === "swap" ? "complete" : "stopped");
    assert.equal(
      first.script.steps.some((step) => step.startsWith("restore")),
      false,
    );
    void first.owner.leave();
    const second = createBoardBench({ slot: "sim", dies: 2, script: first.script });
    const rest = await climb(second);
    assert.equal(rest.outcome, "complete", second.lines.join("\n"));
    const loads = first.script.steps.filter((step) => step === "load-driver");
    assert.equal(loads.length, 1, "nvidia is loaded exactly once, by whichever owner");
  });
}

test("a bind that hangs leaves the die not bound, and is not tried while it hangs", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 3 });
  const { script, owner } = bench;
  script.livePids.add(4711);
  script.failNext.set("bind 1", hung());
  const report = await climb(bench);
  assert.equal(report.outcome, "failed");
  const bad = report.rows.filter(({ outcome }) => outcome === "hung");
  assert.deepEqual(
    bad.map(({ die, step }) => [die, step]),
    [[1, "bind"]],
  );
  assert.ok(!report.rows.some(({ die }) => die === 2), "no further die is tried on that bus");
  assert.deepEqual(report.online, [0], "the first die goes on");
  const entry = bench.entries.find(({ verdict }) => verdict === "hung");
  assert.deepEqual([entry?.step, entry?.phase, entry?.stepPid], ["bind", "failed", 4711]);
  assert.equal(entry?.stepStartTicks, 70);
  const [, die] = (await bench.take(owner.status())).dies;
  assert.deepEqual(
    [die?.state, die?.isBound, die?.lastCause?.name],
    ["faulted", false, "board_hung"],
  );

  const again = await bench.take(owner.online(1));
  assert.ok(!again.ok && again.error.code === "wedged_before");
  assert.match(again.error.message, /bind.*hung in process 4711.*bring-up\.journal.*--retry/);
  assert.equal(script.steps.filter((step) => step === "bind 1").length, 1);
  script.livePids.delete(4711);
  assert.ok((await bench.take(owner.online(1))).ok, "what was stuck has ended");
});

test("a die that is lost is told from one that hangs, and other dies are climbed", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 3 });
  const lost: BoardFailure = { verdict: "lost", call: "acquire", message: "all ones" };
  bench.script.failNext.set("acquire 1", lost);
  const report = await climb(bench);
  assert.equal(report.outcome, "failed");
  assert.deepEqual(report.online, [0, 2]);
  const [, die] = (await bench.take(bench.owner.status())).dies;
  assert.deepEqual([die?.state, die?.lastCause?.name], ["lost", "board_lost"]);
  assert.ok((await bench.take(bench.owner.online(1))).ok, "it is tried again when it is asked for");
});

test("what fails on the first die before the driver is loaded ends the climb", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 2 });
  const refused: BoardFailure = { verdict: "refused", call: "modprobe nvidia", message: "no" };
  bench.script.failNext.set("load-driver", refused);
  const report = await climb(bench);
  assert.deepEqual(shortOf(report).slice(-1), ["load-driver 0 refused"]);
  assert.equal(report.outcome, "failed");
  assert.deepEqual(bench.script.steps.slice(-1), ["restore 0"]);
});

const reset = (step: BringUpStep, die: number): JournalLine => ({
  ...{ time: "2026-12-01T00:00:00.000Z", pid: 7, boot: "old", die, step, phase: "begin" },
});

for (const [step, die] of [
  ["acquire", 0],
  ["load-driver", 0],
  ["bind", 1],
  ["context", 1],
  ["work", 0],
] as const) {
  test(`a reset in ${step} of die ${String(die)}: held back until it is retried`, async () => {
    const interruptions = [{ line: reset(step, die), how: "host_reset" }] as const;
    const bench = createBoardBench({ slot: "sim", dies: 2, wedges: { interruptions } });
    const report = await climb(bench);
    assert.equal(report.outcome, "failed");
    const refused = report.rows.find(({ outcome }) => outcome === "refused");
    assert.deepEqual([refused?.step, refused?.die], [step, die]);
    assert.match(refused?.detail ?? "", /2026-12-01T00:00:00.*machine was reset.*doctor.*--retry/);
    assert.ok(!bench.entries.some((entry) => entry.step === step && entry.die === die));
    const freed = bench.owner.retry(null);
    assert.deepEqual(
      freed.map((wedge) => [wedge.step, wedge.die]),
      [[step, die]],
    );
    assert.equal((await climb(bench)).outcome, "complete");
    assert.deepEqual(bench.owner.retry(null), []);
  });
}

test("a killed owner's rung is simply climbed again", async () => {
  const interruptions = [{ line: reset("bind", 1), how: "killed" }] as const;
  const bench = createBoardBench({ slot: "sim", dies: 2, wedges: { interruptions } });
  assert.equal((await climb(bench)).outcome, "complete");
});

test("a host that does not count the second die is replaced, the first comes back", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 2 });
  bench.script.countsBoundAlone = true;
  const report = await climb(bench);
  assert.equal(report.outcome, "complete", bench.lines.join("\n"));
  assert.deepEqual(report.online, [0, 1]);
  const rows = shortOf(report);
  const missing = rows.indexOf("ordinals 1 refused");
  assert.deepEqual(rows.slice(missing + 1, missing + 4), [
    ...["initialise 1", "initialise 1 skipped", "ordinals 1"],
  ]);
  assert.ok(rows.lastIndexOf("context 0") > missing, "die 0's context is made again");
  assert.match(bench.lines.join("\n"), /die host is replaced.*contexts of dies 0 along/);
  assert.equal(bench.hosts(), 1);
});

test("control: where a new host would not count it either, the old one stays", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 2 });
  bench.script.countsBoundAlone = true;
  assert.ok((await bench.take(bench.owner.online(0))).ok);
  const bound = bench.script.bound;
  // The driver has it, and does not count it.
  bound.add = function add(this: Set<number>): Set<number> {
    return this;
  };
  const online = await bench.take(bench.owner.online(1));
  assert.ok(!online.ok && /counts 1 devices, none of them 0000:06:00.0/.test(online.error.message));
  const [die] = (await bench.take(bench.owner.status())).dies;
  assert.deepEqual([die?.state, die?.ready, die?.restarts], ["online", true, 0]);
});

test("a result that nobody has read is not given up for a further die", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 2 });
  bench.script.countsBoundAlone = true;
  assert.ok((await bench.take(bench.owner.online(0))).ok);
  assert.ok((await bench.take(bench.owner.work(0, 7, 8))).ok);
  const early = await bench.take(bench.owner.online(1));
  assert.ok(!early.ok && /'read 0' first/.test(early.error.message));
  const read = await bench.take(bench.owner.read(0));
  assert.ok(read.ok && read.value.pass);
  assert.ok((await bench.take(bench.owner.online(1))).ok);
});

test("--pause-ms waits before each rung, once that is journalled", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 1 });
  const report = await climb(bench, "work", 1_000);
  assert.ok(bench.clock.nowMs() >= report.rows.length * 1_000);
});

test("dies that are bound together are counted together, and no host is replaced", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 3 });
  bench.script.countsBoundAlone = true;
  await bench.take(bench.owner.bindAll([0, 1, 2]));
  assert.deepEqual([...bench.script.bound], [0, 1, 2]);
  for (const die of [0, 1, 2]) assert.ok((await bench.take(bench.owner.online(die))).ok);
  assert.doesNotMatch(bench.lines.join("\n"), /die host is replaced/);
  assert.equal((await climb(bench)).outcome, "complete");
});

test("one that cannot be bound is left, and says why when it is brought online", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 3 });
  bench.script.livePids.add(4711);
  bench.script.failNext.set("bind 1", hung());
  await bench.take(bench.owner.bindAll([0, 1, 2]));
  assert.deepEqual([...bench.script.bound], [0, 2]);
  const online = await bench.take(bench.owner.online(1));
  assert.ok(!online.ok && online.error.code === "wedged_before");
  assert.equal(bench.script.steps.filter((step) => step === "bind 1").length, 1);
});

test("a rung that cannot be journalled is not climbed, and the owner goes on", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 2 });
  const { owner, script } = bench;
  assert.ok((await bench.take(owner.online(0))).ok);
  assert.ok((await bench.take(owner.work(0, 7, 8))).ok);
  const before = [...script.steps];
  script.journalError = "write /state/bring-up.journal: no space left on device";
  const online = await bench.take(owner.online(1));
  assert.ok(!online.ok && online.error.code === "not_journalled");
  assert.match(online.error.message, /acquire.*no space left on device.*make room/);
  assert.deepEqual(script.steps, before, "no step of the board was taken");
  assert.equal((await climb(bench)).outcome, "failed");
  const read = await bench.take(owner.read(0));
  assert.ok(read.ok && read.value.pass, "the die that is in the window is served");
  script.journalError = null;
  assert.ok((await bench.take(owner.online(1))).ok, "control: with room it is climbed");
});

test("how a rung ended is no reason to fail it where the journal is full by then", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 1 });
  const climbing = bench.owner.ladder({ until: "acquire", pauseMs: 1_000 });
  await bench.pass(1_500);
  bench.script.journalError = "write: no space";
  const report = await bench.take(climbing);
  assert.deepEqual(shortOf(report), ["discover 0", "acquire 0"]);
  assert.match(bench.lines.join("\n"), /die 0: 'acquire done' goes into the journal later: write/);
});

for (const [name, address, number, isHeld] of [
  ["the die's own address", "0000:06:00.0", 1, true],
  ["an address that has another number by now", "0000:06:00.0", 5, true],
  ["its number, and another board's address", "0000:99:00.0", 1, false],
  ["its number alone", undefined, 1, true],
  ["another number alone", undefined, 0, false],
] as const) {
  test(`a reset in a bind of ${name}: ${isHeld ? "held back" : "climbed"}`, async () => {
    const at = address === undefined ? {} : { address };
    const interruptions = [
      { line: { ...reset("bind", number), ...at }, how: "host_reset" },
    ] as const;
    const bench = createBoardBench({ slot: "sim", dies: 2, wedges: { interruptions } });
    assert.equal((await climb(bench)).outcome, isHeld ? "failed" : "complete");
    if (!isHeld) return;
    const online = await bench.take(bench.owner.online(1));
    assert.ok(!online.ok && online.error.message.startsWith("die 1: "), "as it is numbered now");
    assert.equal(bench.owner.retry(0).length, 0);
    assert.equal(bench.owner.retry(1).length, 1);
    assert.equal((await climb(bench)).outcome, "complete");
  });
}

test("what a journal holds back that cannot be read is not known: each die waits", async () => {
  const unreadable = "open /state/bring-up.journal: permission denied";
  const bench = createBoardBench({ slot: "sim", dies: 2, wedges: { unreadable } });
  const { owner } = bench;
  const online = await bench.take(owner.online(0));
  assert.ok(!online.ok && online.error.code === "wedged_before");
  assert.match(online.error.message, /cannot be read.*permission denied.*--state-dir.*--retry/);
  assert.deepEqual(bench.script.steps, []);
  assert.equal((await climb(bench)).outcome, "failed");
  assert.deepEqual(
    owner.retry(1).map(({ die, how }) => [die, how]),
    [[1, "unread"]],
  );
  assert.ok((await bench.take(owner.online(1))).ok);
  assert.ok(!(await bench.take(owner.online(0))).ok, "another die waits on");
  assert.equal(owner.retry(null).length, 1);
  assert.deepEqual(owner.retry(null), []);
  assert.equal((await climb(bench)).outcome, "complete");
});
