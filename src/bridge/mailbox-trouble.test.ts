// What a mailbox's server does where producers, files, devices or we ourselves are wrong.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { InvariantError } from "../base/mod.ts";
import type { JobResult } from "../owner/mod.ts";
import { crc32c, CUBB2_JOB, JOB_FLAG } from "../records/mod.ts";
import { RETRY_MS_MAX } from "./done-outbox.ts";
import { BAD_APART_MS, HELD_BACK_MS } from "./mailbox-server.ts";
import { BURST_LINES_MAX } from "./notice-log.ts";
import { doneIn, failedResult, place, recordV1, recordV2, refusedResult } from "./testing.ts";
import { Site } from "./testing-site.ts";

/** A record with one field changed and the CRC right again. */
function fixedRecord(seq: bigint, offset: number, value: number, flags = 0): Uint8Array {
  const bytes = Buffer.from(recordV2({ seq, flags }));
  bytes.writeUInt8(value, offset);
  const end = CUBB2_JOB.offsets.crc32c;
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, end)), end);
  return bytes;
}

const FAULTS: readonly (readonly [name: string, offset: number, status: string])[] = [
  ["version", CUBB2_JOB.offsets.version, "bad_version"],
  ["size", CUBB2_JOB.offsets.recordBytes, "bad_size"],
  ["reserved byte", CUBB2_JOB.offsets.reserved + 3, "bad_flags"],
];

for (const [name, offset, status] of FAULTS) {
  test(`a record of another ${name} is answered with ${status}`, async (context) => {
    const site = new Site(context);
    place(site.at("job"), fixedRecord(4n, offset, 3));
    await site.poll();
    assert.equal(site.done(), `4 ${status}`);
    const done = doneIn(join(site.folder, "box"));
    assert.deepEqual([done?.op, done?.n, done?.flags], [1, 4n, 0]);
    assert.match(site.jobLines[0] ?? "", new RegExp(`seq=4 op=1 n=4 gpu="" .*status=${status}`));
    place(site.at("job"), fixedRecord(3n, offset, 3));
    await site.poll();
    assert.equal(site.done(), `4 ${status}`);
    assert.deepEqual(site.server.counters.read().rejected, { stale_seq: 1 });
    place(site.at("job"), fixedRecord(0n, offset, 3));
    await site.poll();
    assert.equal(site.server.counters.read().rejected["bad_seq"], 1);
  });

  const isHeard = status === "bad_flags";
  const heard = isHeard ? "heard" : "not heard";
  test(`SEQ_RESET of a record of another ${name} is ${heard}`, async (context) => {
    const site = new Site(context);
    site.post({ seq: 9n });
    await site.poll();
    place(site.at("job"), fixedRecord(4n, offset, 3, JOB_FLAG.seq_reset));
    await site.poll();
    assert.equal(site.done(), isHeard ? `4 ${status}` : "9 ok");
    // Once: the same record is a repeat then, and one below is stale.
    place(site.at("job"), fixedRecord(4n, offset, 3, JOB_FLAG.seq_reset));
    await site.poll();
    assert.equal(site.server.counters.read().repeated, isHeard ? 1 : 0);
    assert.equal(site.server.counters.read().rejected["stale_seq"], isHeard ? undefined : 2);
  });
}

test("content that grows whole is run, and was never bad", async (context) => {
  const site = new Site(context);
  const whole = recordV2();
  for (let length = 8; length <= whole.length; length += 8) {
    writeFileSync(site.at("job"), whole.subarray(0, length));
    await site.poll(1);
  }
  assert.equal(site.done(), "1 ok");
  assert.deepEqual(site.server.counters.read().rejected, {});
});

test("content that stays bad is told once, and may still grow whole", async (context) => {
  const site = new Site(context);
  const half = Buffer.from(recordV2());
  half.fill(0, 100);
  writeFileSync(site.at("job"), half);
  await site.poll(20);
  assert.deepEqual(site.server.counters.read().rejected, { bad_crc: 1 });
  assert.deepEqual(site.outcomes, [{ kind: "rejected", reason: "bad_crc" }]);
  assert.equal(site.lines.length, 1);
  assert.match(
    site.lines[0] ?? "",
    /^bad_crc, not answered: the CUBB2 job record's crc32c is 0x0000/,
  );
  writeFileSync(site.at("job"), recordV2());
  await site.poll();
  assert.equal(site.done(), "1 ok");
});

const NOT_RECORDS: readonly (readonly [name: string, bytes: Uint8Array, line: RegExp])[] = [
  ["a v1 record", recordV1(), /^bad_magic, .*this is a v1 job \(CUBB\) where v2/],
  ["a v1 record, padded", Buffer.concat([recordV1(), Buffer.alloc(80)]), /^bad_magic, .*v1 job/],
  ["text", Buffer.from("hello, world\n".repeat(20)), /^bad_magic, .*begins with the bytes/],
  ["three bytes", Buffer.from("CUB"), /^short, .*has 128 bytes and these are 3/],
  ["a record cut short", recordV2().subarray(0, 127), /^short, .*these are 127/],
];

for (const [name, bytes, line] of NOT_RECORDS) {
  test(`no v2 record: ${name}`, async (context) => {
    const site = new Site(context);
    writeFileSync(site.at("job"), bytes);
    await site.poll(5);
    assert.equal(site.done(), "none");
    assert.equal(site.lines.length, 1);
    assert.match(site.lines[0] ?? "", line);
    assert.equal(site.outcomes.length, 1);
  });
}

test("a thousand bad contents are counted, and do not flood the log", async (context) => {
  const site = new Site(context);
  for (let index = 0; index < 1000; index++) {
    writeFileSync(site.at("job"), Buffer.from(`bad content ${String(index)}`.padEnd(200)));
    await site.poll(2);
  }
  assert.deepEqual(site.server.counters.read().rejected, { bad_magic: 1000 });
  assert.equal(site.lines.length, BURST_LINES_MAX);
  site.post();
  await site.poll();
  assert.equal(site.done(), "1 ok");
});

test("bad content without end is activity now and then, a job always", async (context) => {
  const site = new Site(context);
  const polled = (): boolean => {
    site.nowMs += 0.1;
    return site.server.poll();
  };
  const active: boolean[] = [];
  for (let index = 0; index < 50; index++) {
    place(site.at("job"), Buffer.from(`bad content ${String(index)}`.padEnd(200)));
    active.push(polled(), polled());
  }
  assert.deepEqual([active.indexOf(true), active.filter((each) => each).length], [0, 1]);
  assert.deepEqual(site.server.counters.read().rejected, { bad_magic: 50 });
  site.post({ seq: 5n });
  assert.equal(polled(), true);
  await site.server.settled();
  for (const [waitMs, isActive] of [
    [BAD_APART_MS + 1, true],
    [0, false],
    [BAD_APART_MS + 1, true],
  ] as const) {
    site.nowMs += waitMs;
    site.post({ seq: 4n });
    assert.equal(polled(), isActive);
  }
  assert.equal(site.server.counters.read().rejected["stale_seq"], 3);
});

test("a done record that cannot be written is tried again, its job is not", async (context) => {
  const site = new Site(context);
  mkdirSync(site.at("done"));
  site.post();
  await site.poll();
  assert.deepEqual(site.jobLines, []);
  assert.match(site.lines[0] ?? "", /^seq 1 of guest 7: the done record cannot be written, and/);
  for (let waitedMs = 0; waitedMs < 10_000; waitedMs++) {
    site.nowMs += 1;
    site.server.poll();
  }
  assert.equal(site.lines.length, 1, "one line for all of it");
  rmSync(site.at("done"), { recursive: true });
  site.nowMs += RETRY_MS_MAX;
  await site.poll();
  assert.equal(site.done(), "1 ok");
  assert.equal(site.jobLines.length, 1);
  assert.deepEqual(site.seqsRun(), ["1"]);
  assert.deepEqual(site.server.counters.read().statuses, { ok: 1 });
});

test("a done record that waits is dropped when another job is posted", async (context) => {
  const site = new Site(context);
  mkdirSync(site.at("done"));
  site.post({ seq: 5n });
  await site.poll();
  for (const seq of [5n, 4n, 0n]) {
    site.post({ seq });
    await site.poll();
  }
  assert.equal(site.server.counters.read().rejected["done_unwritten"], undefined);
  site.post({ seq: 6n });
  await site.poll();
  assert.equal(site.server.counters.read().rejected["done_unwritten"], 1);
  rmSync(site.at("done"), { recursive: true });
  site.nowMs += RETRY_MS_MAX;
  await site.poll();
  assert.equal(site.done(), "6 ok");
  assert.deepEqual(site.seqsRun(), ["5", "6"]);
});

const RESULTS: readonly (readonly [JobResult, string])[] = [
  [refusedResult("no_device"), "no_device"],
  [failedResult("timeout", "CUDA_ERROR_LAUNCH_TIMEOUT"), "timeout"],
  [failedResult("device_error", "CUDA_ERROR_ILLEGAL_ADDRESS"), "device_error"],
];

for (const [result, status] of RESULTS) {
  test(`a job that ends as ${status} is answered, and the next one runs`, async (context) => {
    const left = [result];
    const site = new Site(context, { before: () => Promise.resolve(left.shift()) });
    site.post();
    await site.poll();
    assert.equal(site.done(), `1 ${status}`);
    assert.equal(doneIn(join(site.folder, "box"))?.cudaError, 7);
    site.post({ seq: 2n });
    await site.poll();
    assert.equal(site.done(), "2 ok");
  });
}

test("a job under an owner that leaves is left for the next daemon", async (context) => {
  const left = [failedResult("lost", "leaving")];
  const site = new Site(context, { before: () => Promise.resolve(left.shift()) });
  site.post();
  await site.poll(1);
  assert.equal(site.leavings, 1);
  assert.equal(site.done(), "none");
  site.restart();
  await site.poll();
  assert.equal(site.done(), "1 ok");
});

for (const name of ["draining", "parked"]) {
  test(`a record that comes while the owner is ${name} waits until it serves`, async (context) => {
    const held = [refusedResult(name), refusedResult(name)];
    const site = new Site(context, { before: () => Promise.resolve(held.shift()) });
    site.post({ seq: 4n });
    await site.poll(5);
    assert.deepEqual([site.done(), site.seqsRun(), site.leavings], ["none", ["4"], 0]);
    site.nowMs += HELD_BACK_MS - 1;
    await site.poll(5);
    assert.deepEqual(site.seqsRun(), ["4"], "the owner is not asked without a pause");
    site.nowMs += 1;
    await site.poll(5);
    assert.deepEqual([site.done(), site.seqsRun()], ["none", ["4", "4"]]);
    assert.deepEqual(site.lines, [`seq 4 of guest 7 waits unanswered: ${name} on purpose`]);
    assert.equal(site.server.counters.read().jobs, 0);
    site.nowMs += HELD_BACK_MS;
    await site.poll(5);
    assert.equal(site.done(), "4 ok");
  });
}

test("a record that waits for a draining owner is the next daemon's", async (context) => {
  const held = [refusedResult("draining")];
  const site = new Site(context, { before: () => Promise.resolve(held.shift()) });
  site.post();
  await site.poll();
  assert.equal(site.done(), "none");
  site.restart();
  await site.poll();
  assert.equal(site.done(), "1 ok");
});

test("a bug is answered as internal, with its trace in the log", async (context) => {
  const site = new Site(context, {
    before: (job) => {
      const isFirst = job.check?.sampleSeed === "1";
      throw isFirst ? new TypeError("on purpose") : new InvariantError("on purpose too");
    },
  });
  site.post();
  await site.poll();
  assert.equal(site.done(), "1 internal");
  assert.match(site.lines[0] ?? "", /^seq 1 of guest 7: bug: TypeError: on purpose\n +at /);
  assert.deepEqual(site.bugs, []);
  site.post({ seq: 2n });
  await site.poll();
  assert.equal(site.done(), "2 internal");
  assert.equal(site.bugs.length, 1);
});

test("a job file that cannot be read is told once, and again when it can", async (context) => {
  const site = new Site(context);
  mkdirSync(site.at("job"));
  await site.poll(20);
  rmSync(site.at("job"), { recursive: true });
  site.post();
  await site.poll();
  assert.equal(site.lines.length, 2);
  assert.match(site.lines[0] ?? "", /^the job file cannot be read: .*EISDIR|directory/);
  assert.equal(site.lines[1], "the job file can be read again");
  assert.equal(site.done(), "1 ok");
});

test("a stop tries a last time to write what waits", async (context) => {
  const site = new Site(context);
  mkdirSync(site.at("done"));
  site.post();
  await site.poll();
  site.server.finish();
  assert.match(site.lines.at(-1) ?? "", /^seq 1 of guest 7: stopped before its done record could/);
  rmSync(site.at("done"), { recursive: true });
  site.server.finish();
  assert.equal(site.done(), "1 ok");
});
