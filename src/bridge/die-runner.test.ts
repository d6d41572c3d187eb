import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { err } from "../base/mod.ts";
import type { Job, JobResult, Owner } from "../owner/mod.ts";
import { DieChoice } from "./die-choice.ts";
import { DieRunner } from "./die-runner.ts";
import { createFastDies, failedResult } from "./testing.ts";

const JOB = { entry: "mail" } as Job;
const DONE = failedResult("refused", "done");

test("a job goes where the fewest are, and back to its own die where that is no worse", () => {
  const choice = new DieChoice();
  const first = choice.take([0, 1], null);
  const second = choice.take([0, 1], null);
  assert.deepEqual([first.die, second.die], [0, 1]);
  assert.equal(choice.take([1], null).die, 1);
  assert.equal(choice.take([0, 1], 1).die, 0);
  first.release();
  assert.equal(choice.take([1, 0], 1).die, 0);
  assert.equal(choice.take([0, 1], 1).die, 1);
});

test("a place is given back once", () => {
  const { release } = new DieChoice().take([0], null);
  release();
  assert.throws(release, /gives its die back once/);
});

test("property: dies that all may use are never two jobs apart", () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.nat(9)), { maxLength: 100 }),
      fc.integer({ min: 1, max: 5 }),
      (events, count) => {
        const choice = new DieChoice();
        const dies = Array.from({ length: count }, (_, die) => die);
        const loads = dies.map(() => 0);
        const held: ReturnType<DieChoice["take"]>[] = [];
        for (const event of events) {
          if (event === null) {
            const hold = choice.take(dies, null);
            assert.equal(loads[hold.die], Math.min(...loads));
            loads[hold.die] = (loads[hold.die] ?? 0) + 1;
            held.push(hold);
            continue;
          }
          const [hold] = held.splice(event, 1);
          if (hold === undefined) continue;
          loads[hold.die] = (loads[hold.die] ?? 0) - 1;
          hold.release();
        }
      },
    ),
  );
});

test("a mailbox without dies of its own uses all that are discovered", async () => {
  let discoveries = 0;
  const dies = createFastDies({ dies: 3, before: () => Promise.resolve(DONE) });
  const owner = { ...dies, discover: () => ((discoveries += 1), dies.discover()) };
  const runner = new DieRunner(owner);
  const runs = ["a", "b", "c"].map(() => runner.forMailbox(null)(JOB));
  await Promise.all(runs);
  assert.deepEqual(dies.runs.map(({ die }) => die).sort(), [0, 1, 2]);
  await runner.forMailbox([2])(JOB);
  await runner.forMailbox(null)(JOB);
  assert.equal(dies.runs.at(-2)?.die, 2);
  assert.ok(discoveries <= 3);
  const before = discoveries;
  await runner.forMailbox(null)(JOB);
  assert.equal(discoveries, before);
});

const noDevice: Owner["discover"] = () =>
  Promise.resolve(err({ code: "no_device", message: "no GPU here" }));

test("without a device a job is refused, and the next one looks again", async () => {
  const dies = createFastDies({ before: () => Promise.resolve(DONE) });
  let isThere = false;
  const runner = new DieRunner({
    run: dies.run,
    discover: () => (isThere ? dies.discover() : noDevice()),
  });
  runner.prepare();
  const run = runner.forMailbox(null);
  const refused = await run(JOB);
  assert.ok(refused.status === "refused");
  assert.equal(refused.cause.name, "no_device");
  isThere = true;
  assert.deepEqual(await run(JOB), DONE);
});

const LOSSES: readonly (readonly [name: string, results: JobResult[], runs: number])[] = [
  ["once", [failedResult("lost", "die_host_died"), DONE], 2],
  ["twice", [failedResult("lost", "die_host_died"), failedResult("lost", "again"), DONE], 2],
  ["never", [DONE], 1],
  ["by a device error, which is its own", [failedResult("device_error", "x"), DONE], 1],
  ["because the owner leaves", [failedResult("lost", "leaving"), DONE], 1],
];

for (const [name, results, expected] of LOSSES) {
  test(`a job that is lost ${name} is run ${expected === 1 ? "once" : "twice"}`, async () => {
    const left = [...results];
    const dies = createFastDies({ before: () => Promise.resolve(left.shift()) });
    const result = await new DieRunner(dies).forMailbox([0, 1])(JOB);
    assert.equal(dies.runs.length, expected);
    assert.deepEqual(result, results[expected - 1]);
  });
}

test("losses while it waited for its turn do not count against a job", async () => {
  const cause = { name: "die_host_died", code: 0, call: "die host", message: "it died" };
  const lost: JobResult = { status: "lost", cause };
  const waiting: JobResult = { status: "lost", cause, wasWaiting: true };
  const left = [waiting, waiting, lost, waiting, DONE];
  const dies = createFastDies({ before: () => Promise.resolve(left.shift()) });
  assert.deepEqual(await new DieRunner(dies).forMailbox([0])(JOB), DONE);
  assert.equal(dies.runs.length, 5);
});
