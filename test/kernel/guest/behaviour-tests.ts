/** The ways in which a kernel module may answer read(2) and write(2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkMail, checkUnanswered, checkWritten, mailJob, type GuestContext } from "./jobs.ts";
import { launch, lastSeq, readStats, setBehaviour, type Behaviour } from "./mailbox-module.ts";
import { untilTrue } from "./until.ts";

const READ_BEHAVIOURS: readonly (readonly [string, Partial<Behaviour>])[] = [
  ["0 bytes when idle", {}],
  ["EAGAIN when idle", { idle_eagain: true }],
  ["7 bytes a read", { read_bytes_max: 7 }],
  ["1000 bytes a read, EAGAIN when idle", { read_bytes_max: 1000, idle_eagain: true }],
  ["the same bytes at every offset", { ignore_offset: true }],
  ["EINVAL for buffers smaller than the record", { refuse_small: true }],
  [
    "all that goes together",
    { idle_eagain: true, ignore_offset: true, refuse_small: true, keep_job: true },
  ],
];

/** Long enough for some tries of a done record, and short for a launch. */
const SHORT_WAIT_MS = 600;

const DONE_FAILURES = 3;

export function registerBehaviourTests(context: GuestContext): void {
  for (const [index, [what, behaviour]] of READ_BEHAVIOURS.entries()) {
    test(`a mailbox that gives ${what}`, async () => {
      setBehaviour(behaviour);
      for (const seed of [10 + 2 * index, 11 + 2 * index]) {
        const job = mailJob(seed);
        await checkWritten(async () => checkMail(await launch(job.request, job.input), job));
      }
      setBehaviour({});
    });
  }

  test("a done record that cannot be written is tried again, and its job is not run again", async () => {
    const job = mailJob(40);
    setBehaviour({ done_failures: DONE_FAILURES });
    await checkWritten(async () => checkMail(await launch(job.request, job.input), job), {
      done_writes: DONE_FAILURES + 1,
    });
    await context.bridge.untilJobLine(new RegExp(`^CUBB2 seq=${lastSeq()} .* status=ok`));
    const seq = `seq=${lastSeq()} `;
    assert.equal(context.bridge.jobLines.filter((line) => line.includes(seq)).length, 1);
  });

  test("a done record that comes late is refused by the kernel, and the next job is served", async () => {
    const late = mailJob(41);
    setBehaviour({ done_failures: 1_000_000, wait_ms: SHORT_WAIT_MS });
    await checkUnanswered(launch(late.request, late.input));
    const refused = readStats().done_refused_seq;
    // The record that was kept for the launch that gave up is now written, and comes too late.
    setBehaviour({});
    await untilTrue(() => readStats().done_refused_seq > refused);
    const job = mailJob(42);
    checkMail(await launch(job.request, job.input), job);
  });
}
