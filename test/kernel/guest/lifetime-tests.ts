/** The module comes and goes under the daemon, the daemon under the module; lockdown at last. */
import assert from "node:assert/strict";
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { OPERATION } from "../../../src/records/mod.ts";
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

/** The timeout of part board, in guest/run.sh. */
const BOARD_WAIT_MS = 900_000;

const LOCKDOWN = "/sys/kernel/security/lockdown";

export function registerLifetimeTests(context: GuestContext): void {
  registerReloadTest(context);
  registerKillTests(context);
  registerLockdownTest(context);
}

function registerReloadTest(context: GuestContext): void {
  test("the module is unloaded and loaded again under the daemon: its mailbox begins anew", async () => {
    unloadModule();
    assert.ok(!existsSync(MAILBOX));
    await pause(NO_ANSWER_MS);
    assert.ok(context.bridge.isRunning);
    loadModule();

    // The kernel counts from 1 again, in a folder that is another one to the daemon too.
    const job = mailJob(50);
    await checkWritten(async () => {
      const answer = await launch(job.request, job.input);
      checkMail(answer, job);
      assert.equal(answer.done.seq, 1n);
    });
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
    // The board's tests run beside these, and could not go on under it.
    const boardEnded = process.env["BOARD_ENDED"];
    if (boardEnded !== undefined) await untilTrue(() => existsSync(boardEnded), BOARD_WAIT_MS);
    // What is open before stays open; nothing can be opened for writing afterwards.
    setBehaviour({ wait_ms: NO_ANSWER_MS });
    const launchLockedDown = await prepareLaunch();
    writeFileSync(LOCKDOWN, "integrity");
    assert.throws(() => openSync(`${MAILBOX}/cuda_bridge_done`, "w"), { code: "EPERM" });
    assert.equal(readFileSync(`${MAILBOX}/cuda_bridge_job`).length, 0);

    const job = mailJob(60);
    await checkUnanswered(launchLockedDown(job.request, job.input));
    await context.bridge.untilLogged(/cannot be written.*operation not permitted/);
    assert.ok(context.bridge.isRunning);
  });
}
