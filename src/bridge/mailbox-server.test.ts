import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";

import { JOB_FLAG } from "../records/mod.ts";
import { LOST_DONE_MS } from "./mailbox-server.ts";
import { cubb2Job, mailboxV1In, place, recordV1, recordV2 } from "./testing.ts";
import { Site } from "./testing-site.ts";

test("a job is run once, however often its record is looked at", async (context) => {
  const site = new Site(context);
  site.post({ seq: 5n });
  await site.poll(20);
  assert.equal(site.done(), "5 ok");
  assert.deepEqual(site.seqsRun(), ["5"]);
  assert.deepEqual(site.outcomes, [{ kind: "done", status: "ok", seq: 5n }]);
  assert.deepEqual(site.jobLines, [
    'CUBB2 seq=5 op=1 n=4 gpu="Fast die" kernel_ns=1000 status=ok checksum=10.000000 bad=0 ' +
      "out_bytes=16",
  ]);
  const counted = { jobs: 1, repeated: 0, statuses: { ok: 1 }, rejected: {} };
  assert.deepEqual(site.server.counters.read(), counted);
  assert.deepEqual(site.lines, []);
});

test("a record posted again gets the same done record again, and nothing runs", async (context) => {
  const site = new Site(context);
  site.post();
  await site.poll();
  const [first, before] = [readFileSync(site.at("done")), statSync(site.at("done")).ino];
  site.post();
  await site.poll(10);
  assert.deepEqual(readFileSync(site.at("done")), first);
  assert.notEqual(statSync(site.at("done")).ino, before);
  assert.equal(site.server.counters.read().repeated, 1);
  assert.deepEqual(site.seqsRun(), ["1"]);
  assert.equal(site.jobLines.length, 1);
  assert.deepEqual(site.outcomes.at(-1), { kind: "done", status: "ok", seq: 1n });
});

test("a record of the last seq that says something else is a repeat as well", async (context) => {
  const site = new Site(context);
  site.post({ seq: 3n });
  await site.poll();
  site.post({ seq: 3n, op: 2, inBytes: 32n });
  await site.poll();
  assert.equal(site.done(), "3 ok");
  assert.deepEqual(site.seqsRun(), ["3"]);
});

test("a done file that is lost under its job is written again, not at once", async (context) => {
  const site = new Site(context);
  site.post();
  await site.poll();
  rmSync(site.at("done"));
  site.nowMs += 10;
  await site.poll();
  site.nowMs += LOST_DONE_MS - 1;
  await site.poll();
  assert.equal(site.done(), "none");
  site.nowMs += 10;
  await site.poll();
  assert.equal(site.done(), "1 ok");
  assert.equal(site.server.counters.read().repeated, 1);
});

test("a producer that removes done and out between jobs finds no old ones", async (context) => {
  const site = new Site(context);
  for (const seq of [1n, 2n, 3n]) {
    site.post({ seq });
    await site.poll(2);
    assert.equal(site.done(), `${String(seq)} ok`);
    rmSync(site.at("done"));
    rmSync(site.at("out"));
    await site.poll(2);
    assert.equal(site.done(), "none");
    site.nowMs += LOST_DONE_MS / 2;
  }
  assert.deepEqual(site.seqsRun(), ["1", "2", "3"]);
});

test("a lower seq is stale: no done record, one line, one count a posting", async (context) => {
  const site = new Site(context);
  site.post({ seq: 9n });
  await site.poll();
  site.post({ seq: 8n });
  await site.poll(20);
  assert.equal(site.done(), "9 ok");
  site.post({ seq: 9n });
  await site.poll();
  site.post({ seq: 8n });
  await site.poll();
  assert.deepEqual(site.server.counters.read().rejected, { stale_seq: 2 });
  const stale = site.lines.filter((line) => line.includes("stale_seq"));
  assert.deepEqual(stale, [
    "stale_seq, not answered: seq 8 of guest 7 is older than the last one, 9: begin above it, " +
      "or set SEQ_RESET once",
  ]);
  assert.deepEqual(site.seqsRun(), ["9"]);
});

test("SEQ_RESET lets a lower seq through, once", async (context) => {
  const site = new Site(context);
  site.post({ seq: 9n });
  await site.poll();
  const reset = { seq: 2n, flags: JOB_FLAG.seq_reset };
  site.post(reset);
  await site.poll();
  assert.equal(site.done(), "2 ok");
  site.post(reset);
  await site.poll();
  site.post({ seq: 1n });
  await site.poll();
  site.post({ seq: 3n });
  await site.poll();
  assert.deepEqual(site.seqsRun(), ["9", "2", "3"]);
  assert.equal(site.server.counters.read().repeated, 1);
  assert.deepEqual(site.server.counters.read().rejected, { stale_seq: 1 });
});

test("seq 0 is not answered", async (context) => {
  const site = new Site(context);
  site.post({ seq: 0n, flags: JOB_FLAG.seq_reset });
  await site.poll();
  assert.deepEqual(site.outcomes, [{ kind: "rejected", reason: "bad_seq" }]);
  assert.equal(site.done(), "none");
});

test("a refused job is told in the log, with guest, rule and mend", async (context) => {
  const site = new Site(context);
  site.post({ seq: 2n, op: 5, guestId: 77n });
  await site.poll();
  assert.equal(site.done(), "2 unknown_op");
  assert.deepEqual(site.lines, ["seq 2 of guest 77: unknown_op: op 5 is none of 1 to 4 and 256"]);
});

test("a job that takes another's place while that runs is run next", async (context) => {
  const site = new Site(context, {
    before: async (job) => {
      if (job.check?.sampleSeed === "1") site.post({ seq: 2n });
      return Promise.resolve(undefined);
    },
  });
  site.post();
  await site.poll(1);
  assert.equal(site.done(), "1 ok");
  await site.poll(1);
  assert.equal(site.done(), "2 ok");
  assert.deepEqual(site.seqsRun(), ["1", "2"]);
});

test("a job that is posted again while it runs is answered twice", async (context) => {
  const site = new Site(context, {
    before: async () => {
      site.post();
      return Promise.resolve(undefined);
    },
  });
  site.post();
  await site.poll(10);
  assert.deepEqual(site.seqsRun(), ["1"]);
  assert.equal(site.server.counters.read().repeated, 1);
});

test("v1: jobs in, done records out, and a v2 record is none of them", async (context) => {
  const site = new Site(context, { mailboxIn: mailboxV1In });
  const ram = Buffer.alloc(8192);
  ram.write("words to mail...", 0);
  writeFileSync(site.at("ram"), ram);
  place(site.at("job"), recordV1({ seq: 1000n }));
  await site.poll();
  const done = readFileSync(site.at("done"));
  assert.equal(done.length, 40);
  assert.equal(done.readBigUInt64LE(8), 1000n);
  assert.equal(done.readUInt32LE(16), 0);
  assert.equal(readFileSync(site.at("ram")).toString("latin1", 0x1000, 0x1010), "words to mail...");
  assert.match(site.jobLines[0] ?? "", /^CUBB job seq=1000 op=1 n=4 gpu="Fast die" .* bad=0$/);
  place(site.at("job"), recordV1({ seq: 999n }));
  await site.poll();
  assert.match(site.lines.at(-1) ?? "", /one, 1000: .*or start the bridge with --forget-seq$/);
  place(site.at("job"), recordV2({ seq: 2000n }));
  await site.poll();
  assert.match(site.lines.at(-1) ?? "", /^bad_magic, .*this is a v2 job \(CUBB2\) where v1/);
  // The version that would be read from it is not answered either.
  assert.deepEqual(site.server.counters.read().rejected, { stale_seq: 1, bad_magic: 1 });
  const other = Buffer.from(recordV1({ seq: 1001n }));
  other.writeUInt32LE(2, 4);
  place(site.at("job"), other);
  await site.poll();
  assert.equal(readFileSync(site.at("done")).readUInt32LE(16), 1);
});

test("what was posted is what runs, whatever its fields are", async (context) => {
  const site = new Site(context);
  const given = cubb2Job({ seq: 2n ** 64n - 1n, guestId: 2n ** 64n - 1n });
  site.post(given);
  await site.poll();
  assert.equal(site.done(), "18446744073709551615 ok");
});
