// Stopping over a scripted board, in virtual time: what is waited for, and what the journal says.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Result } from "../base/mod.ts";
import type { BringUpStep, JournalEntry, JournalLine } from "./journal.ts";
import { findInterruptions } from "./journal-report.ts";
import type { OwnerRefusal } from "./reports.ts";
import { addressOfDie, createBoardBench, type BoardBench } from "./testing-board.ts";

const LIMIT_MS = 3_600_000;

/** What the next owner reads from the journal after a reboot. */
function heldAfterReboot(entries: readonly JournalEntry[]): readonly BringUpStep[] {
  const at = { time: "2026-12-01T00:00:00.000Z", pid: 7, boot: "old" };
  const lines = entries.map((entry): JournalLine => ({ ...at, ...entry }));
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const found = findInterruptions(text, { bootId: "new", isAlive: () => false });
  return found.map(({ line }) => line.step);
}

async function upTo(bench: BoardBench, step: BringUpStep): Promise<void> {
  void bench.owner.ladder({ until: null, pauseMs: 1_000 });
  const hasBegun = (): boolean => bench.entries.at(-1)?.step === step;
  assert.equal(await bench.clock.run(hasBegun, LIMIT_MS), "done");
  assert.equal(bench.entries.at(-1)?.phase, "begin");
}

for (const step of ["acquire", "load-driver", "initialise", "context"] as const) {
  test(`leaving before ${step} has run holds nothing back after a reboot`, async () => {
    const bench = createBoardBench({ slot: "sim", dies: 2 });
    await upTo(bench, step);
    assert.deepEqual(heldAfterReboot(bench.entries), [step], "control: the machine was reset");
    await bench.take(bench.owner.leave());
    assert.deepEqual(heldAfterReboot(bench.entries), []);
    const last = bench.entries.at(-1);
    assert.deepEqual([last?.step, last?.phase], [step, "failed"]);
    assert.match(last?.detail ?? "", /owner left/);
  });
}

test("leaving adds nothing for rungs that have ended", async () => {
  const bench = createBoardBench({ slot: "sim", dies: 1 });
  assert.ok((await bench.take(bench.owner.online(0))).ok);
  const written = bench.entries.length;
  await bench.take(bench.owner.leave());
  assert.equal(bench.entries.length, written);
});

for (const name of ["discover", "count"] as const) {
  test(`${name} may open the backend: a park waits for its end, and then refuses it`, async () => {
    const { owner, take } = createBoardBench({ slot: "direct", dies: 1 });
    const ended: string[] = [];
    const asked = owner[name]().then(({ ok }) => ended.push(`${name} ${String(ok)}`));
    const parked = owner.park().then(({ mode }) => ended.push(mode));
    await take(Promise.all([asked, parked]));
    assert.deepEqual(ended, [`${name} true`, "parked"]);
    const refused = await take<Result<unknown, OwnerRefusal>>(owner[name]());
    assert.ok(!refused.ok && refused.error.code === "parked");
  });
}

test("what was torn down stays so, whatever it was before, until it is asked for", async () => {
  const bench = createBoardBench({ slot: "direct", dies: 2 });
  const { owner, take } = bench;
  for (const die of [0, 1]) assert.ok((await take(owner.online(die))).ok);
  assert.equal(owner.isTornDown(), false);
  bench.script.presence.set(1, "off_bus");
  bench.script.wrong.add(addressOfDie(1));
  await bench.pass(31_000);
  const broken = (await take(owner.status())).dies[1]?.state;
  assert.ok(broken === "faulted" || broken === "lost");
  assert.ok((await take(owner.teardown())).ok);
  assert.equal(owner.isTornDown(), true);
  bench.script.presence.set(1, "present");
  bench.script.wrong.clear();
  owner.resume();
  await bench.pass(600_000);
  const states = (await take(owner.status())).dies.map(({ state }) => state);
  assert.deepEqual(states, ["discovered", broken]);
  assert.equal(bench.hosts(), 0);
  for (const die of [0, 1]) assert.ok((await take(owner.online(die))).ok);
  assert.equal(owner.isTornDown(), false);
});

test("a result that is gone is not to be read: teardown", async () => {
  const { owner, take } = createBoardBench({ slot: "direct", dies: 1 });
  assert.ok((await take(owner.online(0))).ok);
  assert.ok((await take(owner.work(0, 1, 2))).ok);
  assert.equal((await take(owner.status())).dies[0]?.hasPendingRead, true);
  assert.ok((await take(owner.teardown())).ok);
  assert.equal((await take(owner.status())).dies[0]?.hasPendingRead, false);
});

test("a result that is gone is not to be read: a kernel that outlived its time", async () => {
  const bench = createBoardBench({ slot: "direct", dies: 1 });
  const { owner, take } = bench;
  assert.ok((await take(owner.online(0))).ok);
  bench.script.isHeld = true;
  assert.ok((await take(owner.work(0, 1, 2))).ok);
  assert.equal((await take(owner.status())).dies[0]?.hasPendingRead, true);
  await bench.pass(700_000);
  assert.equal((await take(owner.status())).dies[0]?.hasPendingRead, false);
  const read = await take(owner.read(0));
  assert.ok(!read.ok && /no result.*'work 0 1 2'/.test(read.error.message));
});
