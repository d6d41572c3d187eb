/** The utilisation stress: many large jobs, one after the other, with progress. */
import { err, ok, systemClock, type Result } from "../../base/mod.ts";
import type { MailboxV2 } from "../../bridge/mod.ts";
import { CUBB2_JOB, STATUS, statusName } from "../../records/mod.ts";
import { vaddInput, vaddRecord } from "../trial/job-record.ts";
import { createProducerV2, putWhole } from "../trial/producer.ts";
import { durationText } from "../units.ts";

/** Elements of each job: 64 MiB an array. */
const STRESS_ELEMENTS = 2 ** 24;

/** Between two lines of progress. */
const PROGRESS_MS = 1_000;

export type Stress = {
  readonly mailbox: MailboxV2;
  readonly jobs: number;
  /** No further job is posted after this time; null: all of them are. */
  readonly durationMsMax: number | null;
  readonly firstSeq: bigint;
  readonly waitMsMax: number;
  readonly progress: (text: string) => void;
};

export type StressReport = {
  readonly elements: number;
  readonly jobs: number;
  readonly elapsedMs: number;
  /** Sum of the device's own times. */
  readonly kernelMs: number;
};

/** Runs the jobs. The error is what went wrong with one. */
export async function runStress(stress: Stress): Promise<Result<StressReport, string>> {
  const { mailbox, jobs, firstSeq, waitMsMax, progress } = stress;
  const durationMsMax = stress.durationMsMax ?? Number.POSITIVE_INFINITY;
  const producer = createProducerV2({ ...mailbox, clock: systemClock, waitMsMax });
  putWhole(mailbox.in, vaddInput(STRESS_ELEMENTS));
  const startMs = systemClock.nowMs();
  let toldMs = startMs;
  let [ended, kernelNs] = [0, 0];
  while (ended < jobs && systemClock.nowMs() - startMs < durationMsMax) {
    const seq = firstSeq + BigInt(ended);
    producer.post(CUBB2_JOB.encode(vaddRecord({ seq }, STRESS_ELEMENTS)));
    const done = await producer.waitForDone(seq);
    if (done === null) return err("no done record came");
    if (done.status !== STATUS.ok) {
      return err(`seq ${seq} ended with ${statusName(done.status)}`);
    }
    kernelNs += Number(done.kernelNs);
    ended += 1;
    if (systemClock.nowMs() - toldMs < PROGRESS_MS) continue;
    toldMs = systemClock.nowMs();
    progress(`stress: ${ended} of ${jobs} jobs, ${durationText((toldMs - startMs) * 1e6)}`);
  }
  const elapsedMs = systemClock.nowMs() - startMs;
  return ok({ elements: STRESS_ELEMENTS, jobs: ended, elapsedMs, kernelMs: kernelNs / 1e6 });
}
