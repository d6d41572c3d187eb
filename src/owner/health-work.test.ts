// Health beside work, stop levels and other dies' results: in virtual time, over real die hosts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { HEALTH_PERIOD_MS, HEALTH_RECHECK_MS } from "./health.ts";
import type { DieStatus } from "./reports.ts";
import { addressOfDie, createBoardBench, type BoardBench } from "./testing-board.ts";

async function benchWith(slot: "sim" | "direct", dies: readonly number[]): Promise<BoardBench> {
  const bench = createBoardBench({ slot, dies: 3 });
  for (const die of dies) {
    const online = await bench.take(bench.owner.online(die));
    assert.ok(online.ok, online.ok ? "" : online.error.message);
  }
  return bench;
}

async function dieOf(bench: BoardBench, number: number): Promise<DieStatus> {
  const die = (await bench.take(bench.owner.status())).dies[number];
  assert.ok(die !== undefined);
  return die;
}

const readOf = async (bench: BoardBench, die: number): Promise<boolean> => {
  const read = await bench.take(bench.owner.read(die));
  return read.ok && read.value.pass;
};

test("a probe that waits behind a long job is not taken for a stuck host", async () => {
  const bench = await benchWith("direct", [0]);
  bench.script.isHeld = true;
  assert.ok((await bench.take(bench.owner.work(0, 1, 8))).ok);
  bench.emit({ die: 0, xid: 48, text: "DBE" });
  await bench.pass(10);
  const second = bench.owner.work(0, 2, 8);
  await bench.pass(300_000);
  assert.deepEqual(
    [(await dieOf(bench, 0)).state, (await dieOf(bench, 0)).restarts],
    ["online", 0],
  );
  bench.script.isHeld = false;
  assert.ok((await bench.take(second)).ok);
  assert.ok(await readOf(bench, 0));
});

test("a probe that does not end once its turn has come costs the die its host", async () => {
  const bench = await benchWith("direct", [0, 1]);
  bench.script.stuckCalls.add("probe 0");
  bench.emit({ die: 0, xid: 48, text: "DBE" });
  await bench.pass(59_000);
  assert.equal((await dieOf(bench, 1)).state, "online");
  bench.script.stuckCalls.clear();
  await bench.pass(40_000);
  const die = await dieOf(bench, 0);
  assert.deepEqual([die.state, die.restarts, die.lastCause?.name], ["online", 1, "host_stuck"]);
});

test("a Xid while parked touches nothing, and the die is asked as the owner resumes", async () => {
  const bench = await benchWith("direct", [0, 1]);
  await bench.take(bench.owner.park());
  bench.script.wrong.add(addressOfDie(0));
  bench.emit({ die: 0, xid: 79, text: "gone" });
  await bench.pass(2 * HEALTH_PERIOD_MS);
  const parked = await dieOf(bench, 0);
  assert.deepEqual([parked.state, parked.ready, parked.restarts], ["online", false, 0]);
  assert.equal((await dieOf(bench, 1)).ready, true, "nothing was noticed of it");
  bench.owner.resume();
  await bench.pass(10);
  assert.equal((await dieOf(bench, 0)).lastCause?.name, "probe_wrong");
});

test("a slot that was lost while parked is acquired before the next work", async () => {
  const bench = await benchWith("sim", [0]);
  await bench.take(bench.owner.park());
  bench.script.occupant = null;
  bench.emit({ die: 0, kind: "slot_lost", text: "the window shows no die" });
  await bench.pass(10);
  assert.equal(bench.hosts(), 1, "the end of a host would touch its dies");
  assert.deepEqual([(await dieOf(bench, 0)).state, (await dieOf(bench, 0)).ready], ["lost", false]);
  bench.owner.resume();
  assert.ok((await bench.take(bench.owner.work(0, 1, 8))).ok);
  assert.equal(bench.script.occupant, 0);
  assert.equal(bench.script.steps.filter((step) => step === "acquire 0").length, 2);
  assert.ok(await readOf(bench, 0));
});

test("the same line again is not counted, and the die is asked again all the same", async () => {
  const bench = await benchWith("direct", [0]);
  bench.emit({ die: 0, xid: 48, text: "DBE" });
  await bench.pass(100);
  assert.equal((await dieOf(bench, 0)).ready, true);
  bench.script.wrong.add(addressOfDie(0));
  bench.emit({ die: 0, xid: 48, text: "DBE" });
  // More of them do not put the question off.
  for (let time = 0; time < 4; time++) {
    await bench.take(bench.clock.sleep(HEALTH_RECHECK_MS / 3));
    bench.emit({ die: 0, xid: 48, text: "DBE" });
  }
  assert.match(bench.lines.join("\n"), /wrong answer/, "before `status` asks it");
  const die = await dieOf(bench, 0);
  assert.deepEqual([die.ready, die.lastCause?.name], [false, "probe_wrong"]);
  assert.equal(die.faults.find(({ name }) => name === "xid 48")?.count, 1);
});

test("a die off the bus does not take the unread result of another one along", async () => {
  const bench = await benchWith("sim", [0, 1]);
  assert.ok((await bench.take(bench.owner.work(1, 7, 8))).ok);
  await bench.pass(1000);
  bench.script.presence.set(0, "off_bus");
  await bench.pass(2 * HEALTH_PERIOD_MS);
  assert.equal((await dieOf(bench, 0)).state, "lost");
  bench.script.presence.clear();
  const early = await bench.take(bench.owner.online(0));
  assert.match(early.ok ? "" : early.error.message, /'read 1' first/);
  assert.ok(await readOf(bench, 1));
  assert.ok((await bench.take(bench.owner.online(0))).ok);
  assert.match(bench.lines.join("\n"), /die host \d+ is gone: .*fell off the bus/);
});

test("a die that takes long to look after keeps no other die waiting", async () => {
  const bench = await benchWith("direct", [0, 1]);
  bench.script.slowPresenceMs.set(0, 20 * HEALTH_PERIOD_MS);
  bench.script.wrong.add(addressOfDie(0));
  await bench.pass(HEALTH_PERIOD_MS + 100);
  bench.script.wrong.add(addressOfDie(1));
  await bench.pass(HEALTH_PERIOD_MS + 100);
  assert.match(bench.lines.join("\n"), /die 1: faulted: .*wrong answer/, "before `status` asks it");
  bench.script.wrong.clear();
  bench.script.slowPresenceMs.clear();
  await bench.pass(25 * HEALTH_PERIOD_MS);
  for (const number of [0, 1]) assert.equal((await dieOf(bench, number)).ready, true);
});

test("work on a die that cannot be asked is refused for that, and not for a loss", async () => {
  const bench = await benchWith("direct", [0]);
  bench.script.isHeld = true;
  assert.ok((await bench.take(bench.owner.work(0, 1, 8))).ok);
  bench.emit({ die: 0, xid: 48, text: "DBE" });
  await bench.pass(10);
  bench.script.refusedCalls.add("probe 0");
  const second = bench.owner.work(0, 2, 8);
  bench.script.isHeld = false;
  const work = await bench.take(second);
  assert.match(work.ok ? "it worked" : work.error.message, /to be asked before it works.*scripted/);
  assert.equal((await dieOf(bench, 0)).state, "online");
  bench.script.refusedCalls.clear();
  assert.ok((await bench.take(bench.owner.work(0, 3, 8))).ok);
});

test("a slot that is lost during a climb ends the climb before its next rung", async () => {
  for (const lostAt of ["load-driver", "initialise", "context", "buffers"]) {
    const bench = createBoardBench({ slot: "sim", dies: 2 });
    const rungs = (): readonly string[] => {
      const begun = bench.entries.filter(({ phase }) => phase === "done");
      return begun.map(({ step }) => step);
    };
    const ladder = bench.owner.ladder({
      until: "buffers",
      pauseMs: 1000,
      onRow: ({ step, outcome }) => {
        if (step !== lostAt || outcome !== "done" || bench.script.occupant === null) return;
        bench.script.occupant = null;
        bench.emit({ die: 0, kind: "slot_lost", text: "the window shows no die" });
      },
    });
    await bench.take(ladder);
    const done = rungs();
    const after = done.slice(done.indexOf(lostAt) + 1);
    assert.equal(after[0] ?? "acquire", "acquire", `${lostAt}: ${after.join(", ")}`);
    assert.ok((await bench.take(bench.owner.online(0))).ok);
    assert.equal(bench.script.occupant, 0);
    assert.equal((await dieOf(bench, 0)).ready, true);
  }
});

test("a probe of the second die's rung ends with the window as well", async () => {
  const bench = await benchWith("sim", [0]);
  bench.script.onStep = (name) => {
    if (name !== "bind 1") return;
    bench.script.occupant = null;
    bench.emit({ die: 1, kind: "slot_lost", text: "the window shows no die" });
  };
  const probe = await bench.take(bench.owner.probe(1));
  assert.match(probe.ok ? "it went on" : probe.error.message, /window was lost/);
});
