/** How a job ended, in the words that the done records of both protocols are written from. */
import { invariant } from "../base/mod.ts";
import {
  describeCause,
  type CheckExtent,
  type Job,
  type JobProof,
  type JobResult,
} from "../owner/mod.ts";
import type { StatusName } from "../records/mod.ts";
import { statusOf } from "./result-status.ts";

export type Ending = {
  readonly status: StatusName;
  /** The driver's own number; 0 where it had no part in it. */
  readonly cudaError: number;
  /** Empty where the job did not run. */
  readonly device: string;
  readonly kernelNs: number;
  /** Bytes written to the output. */
  readonly outBytes: number;
  readonly checksum: number;
  readonly bad: number;
  readonly checked: number;
  /** How much was compared; null where the job did not run. */
  readonly extent: CheckExtent | null;
  /** One line on why it is not `ok`; null where it is. */
  readonly reason: string | null;
};

/** A job that is not run, and why. */
export type Refusal = { readonly status: StatusName; readonly reason: string };

const NOT_RUN = {
  cudaError: 0,
  device: "",
  kernelNs: 0,
  outBytes: 0,
  checksum: 0,
  bad: 0,
  checked: 0,
  extent: null,
} as const;

export const refusedEnding = (refusal: Refusal): Ending => ({ ...NOT_RUN, ...refusal });

/** How the job ended that the owner ran. */
export function endingOf(job: Job, result: JobResult): Ending {
  if (result.status !== "ok") {
    const { cause } = result;
    const ending = refusedEnding({ status: statusOf(result), reason: describeCause(cause) });
    return { ...ending, cudaError: cause.code };
  }
  const { device, measures, proof } = result;
  invariant(isProven(job, proof), "what was asked to be checked was checked");
  const bad = proof?.bad ?? 0;
  return {
    device,
    bad,
    cudaError: 0,
    kernelNs: measures.kernelNs,
    outBytes: job.payload?.output?.bytes ?? 0,
    checksum: Number(proof?.checksum ?? 0),
    checked: proof?.checked ?? 0,
    extent: job.check?.extent ?? "none",
    status: bad === 0 ? "ok" : "verify_failed",
    reason: bad === 0 ? null : wrongElements(result),
  };
}

/** A result that nobody looked at must not pass for one that was found right. */
function isProven({ check }: Job, proof: JobProof | null): boolean {
  if (check === undefined) return true;
  if (proof === null) return false;
  const isWhole = check.extent === "full" && check.reference !== null;
  return !isWhole || proof.checked === check.elements;
}

function wrongElements({ proof }: Extract<JobResult, { readonly status: "ok" }>): string {
  const { bad = 0, checked = 0, firstBad = null } = proof ?? {};
  const first =
    firstBad === null
      ? ""
      : `; element ${firstBad.index} is ${firstBad.actual}, not ${firstBad.expected}`;
  return `${bad} of ${checked} compared elements are wrong${first}`;
}
