import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { FolderWatch, OTHER_EVENTS_MAX, REARM_MS, RENEW_MS } from "./folder-watch.ts";
import { place, testFolder } from "./testing.ts";

const BYTES = Buffer.from("a record");

function open(context: TestContext) {
  const folder = join(testFolder(context), "box");
  mkdirSync(folder);
  const seen = { posted: 0 };
  const clock = { ms: 0 };
  const job = join(folder, "job");
  const watch = new FolderWatch(
    job,
    () => clock.ms,
    () => (seen.posted += 1),
  );
  context.after(() => watch.close());
  return { folder, job, seen, clock, watch };
}

/** Long enough for an event that comes, and for one that does not. */
const EVENT_MS = 50;

test("a job file put in place is told of once for each arming", async (context) => {
  const { job, seen, clock, watch } = open(context);
  place(job, BYTES);
  watch.arm();
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 0, "what was there before is no news");
  place(job, BYTES);
  writeFileSync(job, BYTES);
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 1);
  watch.arm();
  place(job, BYTES);
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 1, "it is not time yet");
  clock.ms += REARM_MS;
  watch.arm();
  writeFileSync(job, BYTES);
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 2);
});

test("other files of the folder end the watch when there are too many events", async (context) => {
  const { folder, job, seen, clock, watch } = open(context);
  watch.arm();
  for (let index = 0; index <= OTHER_EVENTS_MAX; index++) {
    writeFileSync(join(folder, `in${String(index)}`), BYTES);
  }
  await sleep(EVENT_MS);
  place(job, BYTES);
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 0);
  clock.ms += REARM_MS;
  watch.arm();
  place(job, BYTES);
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 1);
});

test("a folder that was replaced is watched again after a while", async (context) => {
  const { folder, job, seen, clock, watch } = open(context);
  watch.arm();
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  await sleep(EVENT_MS);
  clock.ms += RENEW_MS;
  watch.arm();
  place(job, BYTES);
  await sleep(EVENT_MS);
  assert.equal(seen.posted, 1);
});

test("a folder that is not there is no error", (context) => {
  const { folder, clock, watch } = open(context);
  rmSync(folder, { recursive: true });
  watch.arm();
  clock.ms += REARM_MS;
  watch.arm();
  watch.close();
});
