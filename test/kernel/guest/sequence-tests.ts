/** Records that are posted again, out of order, or damaged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CUBB2_JOB, CUBB_JOB, JOB_FLAG, OPERATION } from "../../../src/records/mod.ts";
import {
  checkMail,
  checkUnanswered,
  checkVadd,
  checkWritten,
  mailJob,
  vaddJob,
  type GuestContext,
} from "./jobs.ts";
import {
  countDuring,
  jobOf,
  lastSeq,
  launch,
  nextRecord,
  post,
  setBehaviour,
  setLastSeq,
  untilPolled,
} from "./mailbox-module.ts";
import { pause } from "./until.ts";

/** Long for a record that is answered, and short for one that is not. */
const NO_ANSWER_MS = 600;

const flipped = (record: Uint8Array, offset: number): Uint8Array =>
  record.map((byte, index) => (index === offset ? byte ^ 1 : byte));

/** Records that cannot be trusted, each made of a good one. */
const DAMAGED: readonly (readonly [string, (good: Uint8Array) => Uint8Array])[] = [
  ["one bit of its CRC is wrong", (good) => flipped(good, CUBB2_JOB.offsets.crc32c)],
  ["one bit of n is wrong", (good) => flipped(good, CUBB2_JOB.offsets.n)],
  ["its magic is wrong", (good) => flipped(good, 0)],
  ["it is cut short", (good) => good.subarray(0, 64)],
  ["it is of v1", () => v1Record()],
];

const v1Record = (): Uint8Array =>
  CUBB_JOB.encode({ seq: 9n, op: OPERATION.mail, n: 1, gpaA: 0n, gpaB: 0n, gpaC: 4096n });

export function registerSequenceTests(context: GuestContext): void {
  test("a record that is posted again gets the same done record, and is not run again", async () => {
    const { request, input } = vaddJob();
    const record = nextRecord(request, input.length);
    const first = await post(record, input);
    checkVadd(first);
    // The daemon has to see the file idle in between: only that tells it of a second posting.
    await untilPolled();
    await checkWritten(
      async () => assert.deepEqual((await post(record, input)).doneBytes, first.doneBytes),
      { out_writes: 0 },
    );
    const seq = `seq=${first.done.seq} `;
    await context.bridge.untilJobLine(new RegExp(seq));
    assert.equal(context.bridge.jobLines.filter((line) => line.includes(seq)).length, 1);
  });

  test("a lower seq is not run, and not answered", async () => {
    const { request, input } = mailJob(2);
    const stale = CUBB2_JOB.encode(jobOf(request, lastSeq() - 1n, input.length));
    setBehaviour({ wait_ms: NO_ANSWER_MS });
    const counted = await countDuring(() => checkUnanswered(post(stale, input)));
    assert.equal(counted.done_writes, 0);
    assert.equal(counted.in_reads, 0);
    assert.ok(counted.job_shown > 0, "the daemon has seen it");
  });

  for (const [what, damage] of DAMAGED) {
    test(`a record is not answered where ${what}; the good one then is`, async () => {
      const job = mailJob(3);
      const good = nextRecord(job.request, job.input.length);
      setBehaviour({ wait_ms: NO_ANSWER_MS });
      const counted = await countDuring(() => checkUnanswered(post(damage(good), job.input)));
      assert.equal(counted.done_writes + counted.out_writes, 0);
      assert.ok(counted.job_shown > 0, "the daemon has seen it");
      setBehaviour({});
      checkMail(await post(good, job.input), job);
    });
  }

  test("a producer that lost its count is not answered; with SEQ_RESET it is", async () => {
    const job = mailJob(5);
    setLastSeq(0n);
    setBehaviour({ wait_ms: NO_ANSWER_MS });
    const counted = await countDuring(() => checkUnanswered(launch(job.request, job.input)));
    assert.equal(counted.done_writes, 0);
    setBehaviour({});
    const reset = { ...job.request, flags: JOB_FLAG.seq_reset };
    await checkWritten(async () => checkMail(await launch(reset, job.input), job));
    await checkWritten(async () => checkMail(await launch(job.request, job.input), job));
  });

  test("a job that stays in its file after its end is run once and answered once", async () => {
    const job = mailJob(4);
    setBehaviour({ keep_job: true });
    await checkWritten(async () => {
      checkMail(await launch(job.request, job.input), job);
      await pause(NO_ANSWER_MS);
    });
    setBehaviour({});
  });
}
