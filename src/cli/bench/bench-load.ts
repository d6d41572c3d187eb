/** Load on the bridge: producers that post vadd jobs, one or several at once, and what they saw. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { err, ok, type Result } from "../../base/mod.ts";
import type { MailboxV2 } from "../../bridge/mod.ts";
import type { ProducerOrder, ProducerReport } from "./bench-producer.ts";
import { vaddInput } from "../trial/job-record.ts";
import { putWhole } from "../trial/producer.ts";
import { quantilesOf, type Quantiles } from "./quantiles.ts";

/** Above these cores a producer may keep one busy and so see each done record at once. */
const CORES_FOR_SPINNING = 8;

/** Else it naps between looks; a timer of the kernel makes some 70 us of this. */
const NAP_MS = 0.02;

/** 0 where producers look without a pause. */
export const producerPauseMs = (): number =>
  availableParallelism() >= CORES_FOR_SPINNING ? 0 : NAP_MS;

export type Load = {
  /** One producer each. */
  readonly mailboxes: readonly MailboxV2[];
  readonly elements: number;
  readonly jobsMax: number;
  readonly durationMs: number;
  readonly waitMsMax: number;
  /** The next free sequence number of each mailbox, by name; moved on by the run. */
  readonly seqs: Map<string, bigint>;
};

export type LoadReport = {
  readonly elements: number;
  readonly mailboxes: number;
  /** Job in to done out, in nanoseconds. */
  readonly latencyNs: Quantiles;
  /** The device's own time, in nanoseconds. */
  readonly kernelNs: Quantiles;
  readonly jobsPerSecond: number;
};

/** Jobs before the measured ones: a first one compiles, maps and allocates. */
const WARM_UPS = 2;

/** Runs the load. The error is what went wrong with a job. */
export async function runLoad(load: Load): Promise<Result<LoadReport, string>> {
  const { mailboxes, elements, seqs } = load;
  const start = new Int32Array(new SharedArrayBuffer(8));
  const input = vaddInput(elements);
  for (const mailbox of mailboxes) putWhole(mailbox.in, input);
  const reports = await Promise.all(
    mailboxes.map(async (mailbox) => {
      const report = await produce(orderOf(load, mailbox, start));
      seqs.set(mailbox.name, report.nextSeq);
      return report;
    }),
  );
  const failed = reports.find(({ failure }) => failure !== null);
  if (failed !== undefined) return err(failed.failure ?? "");
  const latencies = reports.flatMap((report) => report.latencies);
  const rates = reports.map((report) => (report.latencies.length / report.elapsedMs) * 1000);
  return ok({
    elements,
    mailboxes: mailboxes.length,
    latencyNs: quantilesOf(latencies),
    kernelNs: quantilesOf(reports.flatMap((report) => report.kernels)),
    jobsPerSecond: rates.reduce((sum, rate) => sum + rate, 0),
  });
}

const orderOf = (load: Load, { name, job, done }: MailboxV2, start: Int32Array): ProducerOrder => ({
  job,
  done,
  start,
  producers: load.mailboxes.length,
  elements: load.elements,
  firstSeq: load.seqs.get(name) ?? 1n,
  warmUps: WARM_UPS,
  jobsMax: load.jobsMax,
  durationMs: load.durationMs,
  waitMsMax: load.waitMsMax,
  pauseMs: producerPauseMs(),
});

/** Runs one producer to its end. */
function produce(order: ProducerOrder): Promise<ProducerReport> {
  const worker = new Worker(new URL("./bench-producer.js", import.meta.url), { workerData: order });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}
