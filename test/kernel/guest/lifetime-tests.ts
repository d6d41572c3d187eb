/** The module comes and goes under the daemon, the daemon under the module; lockdown at last. */
import assert from "node:assert/strict";
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { JOB_FLAG, OPERATION } from "../../../src/records/mod.ts";
import { GuestBridge } from "./guest-bridge.ts";
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
  launch,
  loadModule,
  MAILBOX,
  nextRecord,
  post,
  prepareLaunch,
  readStats,
  setBehaviour,
  unloadModule,
} from "./mailbox-module.ts";
import { pause, untilTrue } from "./until.ts";

const NO_ANSWER_MS = 400;

/** Work of about a second under emulation, in one kernel. */
const SLOW_ITERS = 100_000;

const LOCKDOWN = "/sys/kernel/security/lockdown";

export function registerLifetimeTests(context: GuestContext): void {
  registerReloadTest(context);
  registerKillTests(context);
  registerLockdownTest(context);
}

function registerReloadTest(context: GuestContext): void {
  test("the module is unloaded and loaded again under the daemon; SEQ_RESET begins anew", async () => {
    unloadModule();
    assert.ok(!existsSync(MAILBOX));
    await pause(NO_ANSWER_MS);
    assert.ok(context.bridge.isRunning);
    loadModule();

    const job = mailJob(50);
    setBehaviour({ wait_ms: NO_ANSWER_MS });
    // The kernel counts from 1 again, and the daemon remembers: without the flag this is stale.
    await checkUnanswered(launch(job.request, job.input));
    setBehaviour({});
    const fresh = nextRecord({ ...job.request, flags: JOB_FLAG.seq_reset }, job.input.length);
    await checkWritten(async () => checkMail(await post(fresh, job.input), job));
    await checkWritten(async () => checkMail(await launch(job.request, job.input), job));
  });
}

function registerKillTests(context: GuestContext): void {
  test("killed and started again: what was answered is not run again, the next job is", async () => {
    const { request, input } = vaddJob();
    const record = nextRecord(request, input.length);
    const first = await post(record, input);
    checkVadd(first);
    await context.bridge.kill();

    await checkWritten(
      async () => {
        const again = post(record, input);
        context.bridge = await GuestBridge.start();
        assert.deepEqual((await again).doneBytes, first.doneBytes);
      },
      { out_writes: 0 },
    );
    assert.deepEqual(context.bridge.jobLines, []);
    const job = mailJob(51);
    await checkWritten(async () => checkMail(await launch(job.request, job.input), job));
  });

  test("killed while a job runs: the next daemon runs it, and answers once", async () => {
    const request = { ...mailJob(52).request, op: OPERATION.slow_add, iters: SLOW_ITERS };
    const input = new Uint8Array(mailJob(52).input.length);
    const reads = readStats().in_reads;
    const counted = await countDuring(async () => {
      const answer = launch(request, input);
      await untilTrue(() => readStats().in_reads > reads);
      await context.bridge.kill();
      context.bridge = await GuestBridge.start();
      const { done, out } = await answer;
      assert.equal(done.bad, 0n);
      const elements = new Float32Array(out.buffer, out.byteOffset, out.length / 4);
      assert.ok(elements.every((value) => value === SLOW_ITERS));
    });
    assert.equal(counted.done_accepted, 1);
    assert.equal(counted.in_reads, 2, "read by both daemons");
  });
}

function registerLockdownTest(context: GuestContext): void {
  test("lockdown: out and done cannot be opened; the daemon says so and lives", async (t) => {
    if (!existsSync(LOCKDOWN)) {
      t.skip("this kernel has no lockdown");
      return;
    }
    // What is open before stays open; nothing can be opened for writing afterwards.
    setBehaviour({ wait_ms: NO_ANSWER_MS });
    const launchLockedDown = await prepareLaunch();
    writeFileSync(LOCKDOWN, "integrity");
    assert.throws(() => openSync(`${MAILBOX}/cuda_bridge_done`, "w"), { code: "EPERM" });
    assert.equal(readFileSync(`${MAILBOX}/cuda_bridge_job`).length, 0);

    const job = mailJob(60);
    await checkUnanswered(launchLockedDown(job.request, job.input));
    await context.bridge.untilLogged(/EPERM/);
    assert.ok(context.bridge.isRunning);
  });
}
