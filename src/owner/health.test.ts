// What is noticed of dies, and what becomes of them: in virtual time, over real die hosts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { HEALTH_PERIOD_MS, HEALTH_RECHECK_MS, RETRY_MS_FIRST, RETRY_MS_MAX } from "./health.ts";
import type { DieStatus, OwnerStatus } from "./reports.ts";
import { addressOfDie, createBoardBench, type BoardBench } from "./testing-board.ts";

async function benchWith(slot: "sim" | "direct", dies: readonly number[]): Promise<BoardBench> {
  const bench = createBoardBench({ slot, dies: 3 });
  for (const die of dies) {
    const online = await bench.take(bench.owner.online(die));
    assert.ok(online.ok, online.ok ? "" : online.error.message);
  }
  return bench;
}

/** The status as it is remembered: asked while nothing can be probed, it would be made anew. */
const statusOf = (bench: BoardBench): Promise<OwnerStatus> => bench.take(bench.owner.status());

async function dieOf(bench: BoardBench, number: number): Promise<DieStatus> {
  const die = (await statusOf(bench)).dies[number];
  assert.ok(die !== undefined);
  return die;
}

const faultsOf = (die: DieStatus): readonly string[] =>
  die.faults.map(({ name, count }) => `${name} ${String(count)}`);

test("an application's Xid is counted and told, and condemns nothing", async () => {
  const bench = await benchWith("direct", [0, 1]);
  for (const xid of [13, 31, 43, 45, 68, 109]) bench.emit({ die: 0, xid, text: `xid ${xid}` });
  await bench.pass(2 * HEALTH_PERIOD_MS);
  const [die, other] = [await dieOf(bench, 0), await dieOf(bench, 1)];
  assert.deepEqual([die.state, die.ready, die.restarts], ["online", true, 0]);
  assert.equal(die.faults.length, 6);
  assert.deepEqual(other.faults, []);
  assert.ok(bench.lines.some((line) => /die 0: xid 13 .*application/.test(line)));
});

test("the same line within a few seconds is one", async () => {
  const bench = await benchWith("direct", [0]);
  for (let time = 0; time < 20; time++) bench.emit({ die: 0, xid: 48, text: "DBE" });
  assert.deepEqual(faultsOf(await dieOf(bench, 0)), ["xid 48 1"]);
  assert.equal(bench.lines.filter((line) => line.includes("xid 48")).length, 1);
});

test("a Xid of the die has it asked at once; one that answers is ready, counted", async () => {
  const bench = await benchWith("direct", [0]);
  bench.emit({ die: 0, xid: 48, text: "DBE" });
  await bench.pass(1);
  const die = await dieOf(bench, 0);
  assert.deepEqual([die.state, die.ready, die.restarts], ["online", true, 0]);
  assert.deepEqual(faultsOf(die), ["xid 48 1"]);
});

test("a die's own Xid and a wrong answer cost the die its host; it is brought back", async () => {
  const bench = await benchWith("direct", [0, 1]);
  bench.script.wrong.add(addressOfDie(0));
  bench.emit({ die: 0, xid: 95, text: "uncontained" });
  await bench.pass(HEALTH_RECHECK_MS / 2);
  assert.equal((await dieOf(bench, 1)).ready, true);
  assert.equal((await dieOf(bench, 0)).ready, false);
  bench.script.wrong.clear();
  await bench.pass(4 * RETRY_MS_FIRST);
  const die = await dieOf(bench, 0);
  assert.deepEqual([die.state, die.ready], ["online", true]);
  assert.equal(die.lastCause?.name, "probe_wrong");
  assert.ok(faultsOf(die).includes("xid 95 1"));
  assert.ok(faultsOf(die).some((text) => text.startsWith("probe_wrong ")));
});

test("loss without any Xid is found by the probe of the next round", async () => {
  const bench = await benchWith("direct", [0]);
  bench.script.wrong.add(addressOfDie(0));
  await bench.pass(HEALTH_PERIOD_MS + 100);
  assert.equal((await dieOf(bench, 0)).ready, false);
  assert.match(bench.lines.join("\n"), /probe kernel gave a wrong answer/);
});

test("a die that fell off the bus is lost, and comes back once it is there again", async () => {
  const bench = await benchWith("sim", [0, 1]);
  // Die 0 is behind the window's back: only the bus can be asked for it.
  bench.script.presence.set(0, "off_bus");
  await bench.pass(HEALTH_PERIOD_MS + 100);
  const lost = await dieOf(bench, 0);
  assert.deepEqual([lost.state, lost.lastCause?.name], ["lost", "off_bus"]);
  assert.ok(faultsOf(lost).includes("off_bus 1"));
  assert.equal(bench.script.occupant, 1, "the window was not moved for it");
  bench.script.presence.clear();
  assert.ok((await bench.take(bench.owner.work(0, 1, 1))).ok);
  const read = await bench.take(bench.owner.read(0));
  assert.ok(read.ok && read.value.pass);
});

test("a direct die off the bus is not brought up while it is gone", async () => {
  const bench = await benchWith("direct", [0]);
  bench.script.presence.set(0, "off_bus");
  bench.script.wrong.add(addressOfDie(0));
  await bench.pass(HEALTH_PERIOD_MS + 2 * RETRY_MS_MAX);
  const climbs = bench.entries.filter(({ step }) => step === "context").length;
  assert.ok(climbs <= 6, `it was climbed for ${String(climbs)} times`);
  bench.script.presence.clear();
  bench.script.wrong.clear();
  await bench.pass(RETRY_MS_MAX + 1000);
  assert.deepEqual(
    [(await dieOf(bench, 0)).state, (await dieOf(bench, 0)).ready],
    ["online", true],
  );
});

test("a die that keeps failing is tried again with pauses that grow up to a bound", async () => {
  const bench = await benchWith("direct", [0]);
  bench.script.wrong.add(addressOfDie(0));
  bench.emit({ die: 0, xid: 79, text: "gone" });
  await bench.pass(60_000);
  const early = bench.entries.filter(({ step }) => step === "probe").length;
  await bench.pass(10 * RETRY_MS_MAX);
  const late = bench.entries.filter(({ step }) => step === "probe").length - early;
  assert.ok(late >= 18 && late <= 40, `${String(late)} rungs in ten of the longest pauses`);
});

test("behind a window an unmapped die is asked when it is mapped, not by a swap", async () => {
  const bench = await benchWith("sim", [0, 1]);
  const moves = bench.script.steps.length;
  bench.emit({ die: 0, xid: 79, text: "gone" });
  await bench.pass(3 * HEALTH_PERIOD_MS);
  assert.equal(bench.script.steps.length, moves, "the window stayed");
  const waiting = await dieOf(bench, 0);
  assert.deepEqual([waiting.state, waiting.ready], ["online", false]);
  assert.ok((await bench.take(bench.owner.swap(0))).ok);
  await bench.pass(2 * HEALTH_RECHECK_MS);
  assert.equal((await dieOf(bench, 0)).ready, true);
});

test("what is noticed of an unmapped die is looked into before it works on", async () => {
  const bench = await benchWith("sim", [0, 1]);
  bench.emit({ die: 0, xid: 79, text: "gone" });
  bench.script.wrong.add(addressOfDie(0));
  const work = await bench.take(bench.owner.work(0, 1, 1));
  assert.ok(!work.ok && /probe/.test(work.error.message), work.ok ? "it worked" : "");
  bench.script.wrong.clear();
  assert.ok((await bench.take(bench.owner.work(0, 1, 1))).ok);
});

test("a notice that names no die has all of them asked, and none condemned", async () => {
  const bench = await benchWith("direct", [0, 1]);
  bench.script.wrong.add(addressOfDie(1));
  bench.emit({ die: null, kind: "init_failed", text: "RmInitAdapter failed!" });
  await bench.pass(HEALTH_RECHECK_MS / 2);
  const status = await statusOf(bench);
  assert.deepEqual(
    status.dies.map(({ ready }) => ready),
    [true, false, false],
  );
  assert.deepEqual(
    status.faults.map(({ name }) => name),
    ["init_failed"],
  );
});

test("a lost slot loses its dies and frees the window; they come back on demand", async () => {
  const bench = await benchWith("sim", [0, 1]);
  bench.emit({ die: null, kind: "slot_lost", text: "the window shows no die" });
  await bench.pass(10);
  const status = await statusOf(bench);
  assert.equal(status.activeDie, null);
  assert.deepEqual(
    status.dies.map(({ state }) => state),
    ["lost", "lost", "discovered"],
  );
  assert.ok((await bench.take(bench.owner.work(1, 1, 1))).ok);
  assert.equal((await statusOf(bench)).activeDie, 1);
});

test("a slot that is lost again, in the same words and at once, is as lost as before", async () => {
  const bench = await benchWith("sim", [0, 1]);
  for (let times = 0; times < 2; times++) {
    bench.emit({ die: 1, kind: "slot_lost", text: "the window shows no die" });
    await bench.pass(10);
    assert.equal((await statusOf(bench)).activeDie, null);
    assert.ok((await bench.take(bench.owner.work(1, 1, 1))).ok);
  }
});

test("a die at work is not asked, and loss beside it does not take its work", async () => {
  const bench = await benchWith("sim", [0, 1]);
  bench.script.isHeld = true;
  assert.ok((await bench.take(bench.owner.work(1, 7, 8))).ok);
  const probes = bench.entries.length;
  bench.script.presence.set(0, "off_bus");
  bench.emit({ die: 0, xid: 79, text: "gone" });
  bench.emit({ die: 1, xid: 48, text: "DBE" });
  await bench.pass(2 * HEALTH_PERIOD_MS);
  const status = await statusOf(bench);
  assert.deepEqual(
    status.dies.map(({ state, isBusy }) => [state, isBusy]),
    [
      ["lost", false],
      ["online", true],
      ["discovered", false],
    ],
  );
  assert.equal(bench.entries.length, probes, "nothing was brought up meanwhile");
  bench.script.isHeld = false;
  const read = await bench.take(bench.owner.read(1));
  assert.ok(read.ok && read.value.pass);
  // The host that has a context of the lost die is ended as soon as nothing is under way in it.
  bench.script.presence.clear();
  await bench.pass(2 * HEALTH_RECHECK_MS);
  assert.match(bench.lines.join("\n"), /die host \d+ is gone: .*fell off the bus/);
  for (const die of [0, 1]) assert.ok((await bench.take(bench.owner.work(die, 1, 1))).ok);
});

test("an owner that has left asks no die any more", async () => {
  const bench = await benchWith("direct", [0]);
  void bench.owner.leave();
  bench.emit({ die: 0, xid: 79, text: "gone" });
  await bench.pass(5 * HEALTH_PERIOD_MS);
  assert.equal(bench.hosts(), 0);
});
