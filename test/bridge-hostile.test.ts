// Hostile records: whatever a job file holds, there is a status or a counted rejection, never a
// crash, a hang or a wrong ok. Over dies in plain JavaScript, since only admission matters here.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test, type TestContext } from "node:test";

import { BURST_LINES_MAX } from "../src/bridge/notice-log.ts";
import {
  cubbJob,
  mailboxV1In,
  mailboxV2In,
  MEMORY_FOLDER,
  recordV1,
  recordV2,
} from "../src/bridge/testing.ts";
import { Site } from "../src/bridge/testing-site.ts";
import {
  crc32c,
  CUBB2_JOB,
  CUBB_JOB,
  CUBD_DONE,
  JOB_FLAG,
  type CubbJob,
} from "../src/records/mod.ts";

/** Told by each test that draws from it; HOLDFAST_SEED replays. */
const SEED = Number(process.env["HOLDFAST_SEED"] ?? Date.now() % 2 ** 31);

/** A small generator (xorshift32), so that one number replays everything. */
function createRandom(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const WORDS = Uint32Array.of(0x01020304, 0xffffffff, 0, 0x7fc00001);

/** A v2 mailbox with four words in its input. */
function openV2(context: TestContext): Site {
  const site = new Site(context, { parent: MEMORY_FOLDER });
  writeFileSync(site.at("in"), new Uint8Array(WORDS.buffer));
  return site;
}

/** A v1 mailbox over 64 KiB of guest RAM, in which each word tells where it is. */
function openV1(context: TestContext): Site {
  const site = new Site(context, { mailboxIn: mailboxV1In, parent: MEMORY_FOLDER });
  const ram = Uint32Array.from({ length: 16_384 }, (_, index) => index);
  writeFileSync(site.at("ram"), new Uint8Array(ram.buffer));
  return site;
}

/** Shows content for as long as it takes to be dealt with; how it ended, null where it was idle. */
async function show(site: Site, bytes: Uint8Array): Promise<string | null> {
  const before = site.outcomes.length;
  writeFileSync(site.at("job"), bytes);
  await site.poll(2);
  assert.ok(site.outcomes.length <= before + 1, "one content, one outcome");
  const outcome = site.outcomes[before];
  if (outcome === undefined) return null;
  return outcome.kind === "done" ? outcome.status : outcome.reason;
}

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

test("v2: no record with one bit flipped is answered, and all are counted", async (context) => {
  const site = openV2(context);
  const record = recordV2();
  const bits = record.length * 8;
  for (let bit = 0; bit < bits; bit++) await show(site, flip(record, bit));
  const magicBits = 8 * 8;
  const counted = { bad_magic: magicBits, bad_crc: bits - magicBits };
  assert.deepEqual(site.server.counters.read().rejected, counted);
  assert.equal(site.done(), "none");
  // The control: the record itself.
  assert.equal(await show(site, record), "ok");
  assert.deepEqual(readFileSync(site.at("out")), Buffer.from(WORDS.buffer));
});

for (const [name, record, mailboxIn] of [
  ["v2", recordV2(), mailboxV2In],
  ["v1", recordV1(), mailboxV1In],
] as const) {
  test(`${name}: no record cut short is answered`, async (context) => {
    const site = new Site(context, { mailboxIn, parent: MEMORY_FOLDER });
    for (let length = 0; length < record.length; length++) {
      const outcome = await show(site, record.subarray(0, length));
      // No bytes at all are no record: the mailbox is idle.
      assert.equal(outcome, length === 0 ? null : "short");
    }
    assert.equal(site.server.counters.read().jobs, 0);
  });
}

/** What an ok means for v1: at c are the words of a, or the sums; everything else is untouched. */
function assertRightV1(before: Buffer, after: Buffer, job: CubbJob): void {
  const { op, n } = job;
  const [a, b, c] = [Number(job.gpaA), Number(job.gpaB), Number(job.gpaC)];
  const expected = Buffer.from(before);
  for (let offset = 0; offset < 4 * n; offset += 4) {
    const bits = before.readUInt32LE(a + offset);
    const total = before.readFloatLE(a + offset) + before.readFloatLE(b + offset);
    if (op === 1) expected.writeUInt32LE(bits, c + offset);
    else expected.writeFloatLE(total, c + offset);
  }
  assert.ok(expected.equals(after), JSON.stringify({ op, n, a, b, c }));
}

test("v1: a record with one bit flipped gets what it then says, or is counted", async (context) => {
  const shape = { op: 2, n: 16, gpaA: 0n, gpaB: 0x1000n, gpaC: 0x2000n };
  const record = recordV1(cubbJob({ seq: 5n, ...shape }));
  const seen = new Set<string>();
  for (let bit = 0; bit < record.length * 8; bit++) {
    const site = openV1(context);
    const bytes = flip(record, bit);
    const before = readFileSync(site.at("ram"));
    const outcome = await show(site, bytes);
    assert.ok(outcome !== null, `bit ${String(bit)}`);
    seen.add(outcome);
    const counted = site.server.counters.read();
    assert.equal(counted.jobs + sum(counted.rejected), 1);
    if (counted.jobs === 0) continue;
    const done = CUBD_DONE.decode(readFileSync(site.at("done")));
    assert.ok(done.ok);
    assert.equal(done.value.seq, Buffer.from(bytes).readBigUInt64LE(CUBB_JOB.offsets.seq));
    const after = readFileSync(site.at("ram"));
    const decoded = CUBB_JOB.decode(bytes);
    if (outcome !== "ok") {
      // Op 3, one bit away from op 2, is run and found wrong; nothing else that fails writes.
      if (outcome !== "verify_failed") assert.ok(before.equals(after));
    } else if (decoded.ok) assertRightV1(before, after, decoded.value);
  }
  const expected = ["ok", "bad_magic", "bad_version", "unknown_op", "misaligned", "out_of_bounds"];
  for (const name of [...expected, "too_large", "verify_failed"]) assert.ok(seen.has(name), name);
});

/** Random bytes, some of which begin as a record does, or are one by their checksum. */
function randomContent(random: (below: number) => number, index: number): Buffer {
  const content = Buffer.from(Array.from({ length: random(300) }, () => random(256)));
  const kind = random(5);
  if (kind === 0) return content;
  // A sequence number that rises lets what follows it be judged as well.
  const seq = random(4) === 0 ? 1n : BigInt(index + 1);
  const record = Buffer.from(kind === 1 ? recordV1({ seq }) : recordV2({ seq }));
  record.copy(content, 0, 0, kind === 1 ? 16 : 8 + random(16));
  if (kind === 4 && content.length >= record.length) {
    const end = CUBB2_JOB.offsets.crc32c;
    // Sealed: what is here is right, all else is chance, and a third has reserved bytes zero.
    record.copy(content, 0, 0, 12);
    record.copy(content, 16, 16, 24);
    if (random(3) === 0) content.fill(0, CUBB2_JOB.offsets.reserved, end);
    if (random(2) === 0) content.writeUInt32LE(random(6), CUBB2_JOB.offsets.op);
    content.writeUInt32LE(crc32c(content.subarray(0, end)), end);
  }
  return content;
}

for (const [name, open] of [
  ["v2", openV2],
  ["v1", openV1],
] as const) {
  test(`${name}: 10,000 contents of chance (HOLDFAST_SEED=${String(SEED)})`, async (context) => {
    const site = open(context);
    const random = createRandom(SEED);
    let isSame = "";
    let idle = 0;
    for (let index = 0; index < 10_000; index++) {
      const content = randomContent(random, index);
      const outcome = await show(site, content);
      // Content that happens to be what it was before is the same record, dealt with already.
      if (outcome === null && content.length > 0) isSame = content.toString("hex");
      if (outcome === null) idle += 1;
      assert.notEqual(outcome, "ok");
      assert.notEqual(outcome, "internal");
    }
    assert.equal(isSame, "");
    const { jobs, repeated, rejected } = site.server.counters.read();
    assert.equal(jobs + repeated + sum(rejected) + idle, 10_000);
    assert.ok(jobs > 100, String(jobs));
    // One line for each that was answered, and for the others as many as the log may hold.
    assert.equal(site.jobLines.length, jobs);
    assert.ok(site.lines.length <= BURST_LINES_MAX);
  });
}

/** A job that can be run, with a few fields that a producer may get wrong. */
function nearlyRight(random: (below: number) => number, seq: bigint): Uint8Array {
  const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  const op = pick([1, 1, 2, 2, 3, 4, 0, 5, 255, 257]);
  const n = pick([4n, 4n, 4n, 1n, 2n, 0n, 5n, 2n ** 28n, 2n ** 28n + 1n, 2n ** 30n + 1n]);
  const right = { inBytes: n * (op === 2 || op === 3 ? 8n : 4n), outBytes: n * 4n };
  const more = { inBytes: right.inBytes + pick([0n, 0n, 0n, 1n, 4n, 2n ** 32n]) };
  const shape = pick([0, 0, 0, 1, 1024, 1025]);
  return recordV2({
    seq,
    op,
    n,
    ...right,
    ...more,
    flags: pick([0, 0, 0, 1, 2, 4, 6, 8, 2 ** 31]),
    iters: op === 4 ? random(3) : pick([0, 0, 0, 1]),
    grid: [shape, shape, shape === 1 ? 1 : 0],
    block: [shape, shape, shape === 1 ? 1 : 0],
  });
}

test(`v2: a good checksum and nearly right (HOLDFAST_SEED=${String(SEED)})`, async (context) => {
  const site = openV2(context);
  const random = createRandom(SEED + 1);
  const seen = new Map<string, number>();
  for (let seq = 1n; seq <= 3000n; seq++) {
    const record = nearlyRight(random, seq);
    const outcome = (await show(site, record)) ?? "none";
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    if (outcome !== "ok") continue;
    const decoded = CUBB2_JOB.decode(record);
    assert.ok(decoded.ok);
    const { op, n, iters, inBytes, flags } = decoded.value;
    // The input holds 16 bytes, so whatever wants more was refused; and op 3 is only ok where the
    // producer wanted nothing compared.
    assert.ok(inBytes <= 16n && (op !== 3 || (flags & JOB_FLAG.verify_none) !== 0));
    const out = readFileSync(site.at("out"));
    assert.equal(BigInt(out.length), 4n * n);
    if (op === 1) assert.ok(out.equals(Buffer.from(WORDS.buffer).subarray(0, out.length)));
    if (op === 4 && iters === 0 && n < 4n) assert.ok(out.equals(readInput(site, out.length)));
  }
  const statuses = ["ok", "unknown_op", "bad_size", "too_large", "bad_flags", "io_error"];
  for (const status of statuses) assert.ok((seen.get(status) ?? 0) > 10, status);
  assert.equal(seen.get("none"), undefined);
  assert.equal(seen.get("internal"), undefined);
});

const readInput = (site: Site, bytes: number): Buffer =>
  readFileSync(site.at("in")).subarray(0, bytes);

test("a record of one version is none of the other, whichever came before", async (context) => {
  const [v2, v1] = [openV2(context), openV1(context)];
  for (let seq = 1n; seq <= 20n; seq++) {
    assert.equal(await show(v2, recordV1({ seq })), "bad_magic");
    assert.equal(await show(v2, recordV2({ seq })), "ok");
    assert.equal(await show(v1, recordV2({ seq })), "bad_magic");
    assert.equal(await show(v1, recordV1({ seq })), "ok");
  }
});
