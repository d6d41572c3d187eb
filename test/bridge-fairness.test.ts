// Several mailboxes in one daemon: each makes progress, and one that posts job after job costs
// another no more than one job's time. The bound is counted in jobs, so it holds on any machine.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../src/base/mod.ts";
import { createBridge, type Bridge, type BridgeOptions } from "../src/bridge/mod.ts";
import { createFastDies, MEMORY_FOLDER, testFolder } from "../src/bridge/testing.ts";
import type { Job } from "../src/owner/mod.ts";
import { BASE_MODULE, createSoftOwner } from "./bridge-owner.ts";
import { Producer, type Answered } from "./bridge-producer.ts";

const MAIL = 1;
const SLOW_ADD = 4;

/** The mailbox that a job came from: its folder's name. */
const boxOf = (job: Job): string => job.payload?.input?.path.split("/").at(-2) ?? "";

function serve(
  context: TestContext,
  producers: readonly Producer[],
  owner: BridgeOptions["owner"],
): Bridge {
  const made = createBridge({
    owner,
    baseModule: BASE_MODULE,
    clock: systemClock,
    pollUs: null,
    stateDirectory: null,
    mailboxes: producers.map(({ mailbox }) => mailbox),
    printJobLine: () => undefined,
    log: () => undefined,
  });
  assert.ok(made.ok, JSON.stringify(made));
  const serving = made.value.run();
  context.after(async () => {
    made.value.stop();
    await serving;
  });
  return made.value;
}

/** An owner that notes whose jobs each job found before it on its die. */
function watch(owner: BridgeOptions["owner"], dies: number) {
  const waits: { readonly box: string; readonly die: number; readonly others: string[] }[] = [];
  const unfinished = Array.from({ length: dies }, (): string[] => []);
  let busyDiesMax = 0;
  const run: BridgeOptions["owner"]["run"] = async (die, job) => {
    const [queue, box] = [unfinished[die] ?? [], boxOf(job)];
    waits.push({ box, die, others: [...queue] });
    queue.push(box);
    busyDiesMax = Math.max(busyDiesMax, unfinished.filter(({ length }) => length > 0).length);
    const result = await owner.run(die, job);
    assert.equal(queue.shift(), box, "a die's jobs are done in order");
    return result;
  };
  return { discover: owner.discover, run, waits, busyDiesMax: () => busyDiesMax };
}

/** Dies whose jobs take so long. */
const slowDies = (dies: number, jobMs: number): BridgeOptions["owner"] =>
  createFastDies({ dies, before: () => sleep(jobMs, undefined) });

/** No job found two of one other mailbox before it, or one of its own. */
function assertBound({ waits }: ReturnType<typeof watch>): void {
  for (const { box, others } of waits) {
    assert.equal(new Set(others).size, others.length, `${box} waited for ${others.join(" ")}`);
    assert.ok(!others.includes(box));
  }
}

/** Posts job after job until told to stop; how many were answered. */
async function flood(producer: Producer, isOver: () => boolean): Promise<number> {
  producer.write(new Uint8Array(16));
  let jobs = 0;
  while (!isOver()) {
    assert.equal((await producer.run(MAIL, 4)).statusName, "ok");
    jobs += 1;
  }
  return jobs;
}

for (const count of [2, 5]) {
  const name = `${String(count)} mailboxes flood one die: a job waits for one of each other`;
  test(name, async (context) => {
    const folder = testFolder(context, MEMORY_FOLDER);
    const owner = watch(slowDies(1, 2), 1);
    const producers = Array.from(
      { length: count },
      (_, index) => new Producer(folder, { name: `box${String(index)}` }),
    );
    serve(context, producers, owner);
    const endMs = performance.now() + 500;
    const isOver = (): boolean => performance.now() > endMs;
    const jobs = await Promise.all(producers.map((producer) => flood(producer, isOver)));
    assertBound(owner);
    // Whoever waits for one job of each other, and they for one of his, has as many as they.
    const [least, most] = [Math.min(...jobs), Math.max(...jobs)];
    assert.ok(least > 0 && least >= most / 4, jobs.join(" "));
    context.diagnostic(`jobs answered: ${jobs.join(" ")}`);
  });
}

test("two mailboxes that flood two dies have one each, at the same time", async (context) => {
  const folder = testFolder(context, MEMORY_FOLDER);
  const owner = watch(slowDies(2, 2), 2);
  const producers = ["a", "b"].map((name) => new Producer(folder, { name }));
  serve(context, producers, owner);
  const endMs = performance.now() + 300;
  const isOver = (): boolean => performance.now() > endMs;
  await Promise.all(producers.map((producer) => flood(producer, isOver)));
  assert.equal(owner.busyDiesMax(), 2);
  // From the second job on, each is on the die that it was on before.
  const dieOf = (box: string): ReadonlySet<number> =>
    new Set(owner.waits.filter((wait) => wait.box === box).map(({ die }) => die));
  assert.deepEqual([...dieOf("a"), ...dieOf("b")].sort(), [0, 1]);
});

for (const dies of [1, 2]) {
  test(`software GPU, ${String(dies)} dies: long jobs without end, and short`, async (context) => {
    const soft = createSoftOwner(dies);
    context.after(() => soft.leave());
    const owner = watch(soft, dies);
    const folder = testFolder(context, MEMORY_FOLDER);
    const [long, short] = ["long", "short"].map((name) => new Producer(folder, { name }));
    assert.ok(long !== undefined && short !== undefined);
    serve(context, [long, short], owner);
    const n = 4096;
    long.write(new Float32Array(n));
    const flooder = { isOver: false, jobs: 0, longestMs: 0 };
    const flooding = (async () => {
      while (!flooder.isOver) {
        const startMs = performance.now();
        const answered: Answered = await long.run(SLOW_ADD, n, { iters: 20_000 });
        assert.equal(answered.statusName, "ok");
        flooder.jobs += 1;
        flooder.longestMs = Math.max(flooder.longestMs, performance.now() - startMs);
      }
    })();
    short.write(new Uint8Array(16));
    assert.equal((await short.run(MAIL, 4)).statusName, "ok");
    let longestMs = 0;
    for (let jobs = 0; jobs < 10; jobs++) {
      const startMs = performance.now();
      assert.equal((await short.run(MAIL, 4)).statusName, "ok");
      longestMs = Math.max(longestMs, performance.now() - startMs);
    }
    flooder.isOver = true;
    await flooding;
    const [shortText, longText] = [longestMs.toFixed(1), flooder.longestMs.toFixed(1)];
    context.diagnostic(`longest short job ${shortText} ms, longest long one ${longText} ms`);
    assertBound(owner);
    assert.ok(flooder.jobs > 0);
    assert.equal(owner.busyDiesMax(), dies);
  });
}
