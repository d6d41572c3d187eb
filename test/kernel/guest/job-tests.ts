/** Jobs of each kind, launched by the kernel and run by the daemon. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { JOB_FLAG, OPERATION, STATUS } from "../../../src/records/mod.ts";
import {
  checkMail,
  checkVadd,
  checkWritten,
  countWrong,
  ELEMENTS,
  launchJob,
  mailJob,
  vaddJob,
  type GuestContext,
} from "./jobs.ts";
import { lastSeq, launch, readStats } from "./mailbox-module.ts";
import { pause } from "./until.ts";

/** Looks at how many descriptors are open, spread over some of the daemon's pauses. */
const HELD_LOOKS = 40;

export function registerJobTests(context: GuestContext): void {
  test("mail: the words come back unchanged, in one write, and done in another", async () => {
    const job = mailJob(1);
    await checkWritten(async () => checkMail(await launch(job.request, job.input), job));
  });

  test("vadd: every element is right, the kernel takes the done record, one line is printed", async () => {
    const job = vaddJob();
    await checkWritten(async () => {
      const answer = await launch(job.request, job.input);
      checkVadd(answer);
      const { done } = answer;
      assert.equal(done.seq, lastSeq());
      assert.equal(done.checked, BigInt(ELEMENTS));
      assert.equal(done.bad, 0n);
      assert.equal(done.flags, JOB_FLAG.verify_full);
    });
    const line =
      `^CUBB2 seq=${lastSeq()} op=2 n=1024 gpu="[^"]+" kernel_ns=\\d+ status=ok ` +
      "checksum=\\d+\\.\\d{6} bad=0 out_bytes=4096$";
    await context.bridge.untilJobLine(new RegExp(line));
  });

  test("vadd_mutated: the control is told for wrong in every element", async () => {
    const job = vaddJob(OPERATION.vadd_mutated);
    await checkWritten(async () => {
      const answer = await launch(job.request, job.input);
      assert.equal(answer.done.status, STATUS.verify_failed);
      assert.equal(answer.done.bad, BigInt(ELEMENTS));
      assert.equal(countWrong(answer), ELEMENTS);
    });
  });

  test("launch: an entry of a module that is named by its SHA-256", async () => {
    const job = launchJob();
    await checkWritten(async () => checkVadd(await launch(job.request, job.input)));
  });

  test("a job that is refused gets a done record, and out is not touched", async () => {
    const { request, input } = vaddJob();
    await checkWritten(
      async () => {
        const { done, out } = await launch({ ...request, n: 0n }, input);
        assert.equal(done.status, STATUS.bad_size);
        assert.equal(out.length, 0);
      },
      { out_writes: 0 },
    );
  });

  test("an idle daemon holds no descriptor of the mailbox", async () => {
    let free = 0;
    for (let look = 0; look < HELD_LOOKS; look++) {
      if (readStats().held === 0) free++;
      await pause(5);
    }
    // A look may fall into a poll; a descriptor that is kept would be there each time.
    assert.ok(free > HELD_LOOKS / 2, `free at ${free} of ${HELD_LOOKS} looks`);
  });
}
