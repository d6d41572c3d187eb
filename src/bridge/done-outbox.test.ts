import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { DoneOutbox, RETRY_MS_MAX, RETRY_MS_MIN } from "./done-outbox.ts";
import { NoticeLog } from "./notice-log.ts";
import { testFolder } from "./testing.ts";

const DONE = Buffer.from("a done record");

function open(context: TestContext) {
  const path = join(testFolder(context), "done");
  const lines: string[] = [];
  const written: bigint[] = [];
  const time = { ms: 0 };
  const clock = { nowMs: () => time.ms, sleep: () => Promise.resolve() };
  const notices = new NoticeLog((line) => lines.push(line), clock);
  const outbox = new DoneOutbox(path, { clock, notices });
  const post = (seq: bigint): void =>
    outbox.post({
      seq,
      done: DONE,
      label: `seq ${String(seq)}`,
      onWritten: () => written.push(seq),
    });
  return { path, lines, written, time, outbox, post };
}

test("an answer is written at once where it can be", (context) => {
  const { path, written, outbox, post } = open(context);
  post(1n);
  assert.deepEqual(written, [1n]);
  assert.deepEqual(readFileSync(path), DONE);
  assert.equal(outbox.waiting(), null);
  assert.ok(outbox.placed() !== null);
});

test("one that cannot be written is tried again soon, then less and less often", (context) => {
  const { path, written, time, outbox, post, lines } = open(context);
  mkdirSync(path);
  post(1n);
  assert.equal(outbox.waiting()?.seq, 1n);
  rmdirSync(path);
  outbox.retry();
  assert.deepEqual(written, [], "it is not time yet");
  time.ms += RETRY_MS_MIN;
  outbox.retry();
  assert.deepEqual(written, [1n]);

  rmSync(path);
  mkdirSync(path);
  post(2n);
  for (; time.ms < 60_000; time.ms++) outbox.retry();
  rmdirSync(path);
  const startMs = time.ms;
  for (; written.length < 2; time.ms++) outbox.retry();
  const waitedMs = time.ms - startMs;
  assert.ok(waitedMs > 1 && waitedMs <= RETRY_MS_MAX + 1, String(waitedMs));
  assert.equal(lines.length, 2, "one line each time that it begins to fail");
});

test("an answer takes the place of one that waits, which is never written", (context) => {
  const { path, written, time, post, outbox } = open(context);
  mkdirSync(path);
  post(1n);
  post(2n);
  rmdirSync(path);
  time.ms += RETRY_MS_MAX;
  outbox.retry();
  assert.deepEqual(written, [2n]);
  outbox.drop();
  assert.equal(outbox.tryNow(), true);
});

test("a clock that goes back delays, and does not lose", (context) => {
  const { path, written, time, post, outbox } = open(context);
  mkdirSync(path);
  post(1n);
  rmdirSync(path);
  time.ms -= 5000;
  outbox.retry();
  assert.deepEqual(written, []);
  time.ms += 5000 + RETRY_MS_MIN;
  outbox.retry();
  assert.deepEqual(written, [1n]);
});
