// The kernels of base.ptx, on the CPU. The demo's jobs have generated inputs; those of the bridge
// are run by the bridge's own test double.
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { runFast } from "../../src/bridge/testing.ts";
import { referenceVadd, referenceVaddMutated } from "../../src/gpu/mod.ts";
import type { Job, JobArgument, JobResult } from "../../src/owner/mod.ts";

function floatsOf(argument: JobArgument | undefined): Float32Array {
  if (argument?.kind !== "buffer" || argument.source.kind !== "pattern") {
    return new Float32Array(0);
  }
  const { pattern } = argument.source;
  const count = argument.bytes / 4;
  if (pattern.kind !== "ramp") return new Float32Array(count);
  return Float32Array.from({ length: count }, (_, i) => pattern.scale * (i % pattern.modulus));
}

/** Right; or blind: the mutated kernel is not mutated; or off: each output ends in a wrong byte. */
export type FakeKernels = "right" | "blind" | "off";

export function runFakeKernel(job: Job, kernels: FakeKernels): JobResult {
  const isBlind = kernels === "blind";
  if (isOfBridge(job)) {
    const result = runBridgeJob(job, isBlind);
    if (kernels === "off" && result.status === "ok") spoilOutput(job);
    return result;
  }
  const [output, left, right] = job.arguments;
  const isMutated = job.entry === "vadd_mutated" && !isBlind;
  const sums = (isMutated ? referenceVaddMutated : referenceVadd)(floatsOf(left), floatsOf(right));
  for (const argument of job.arguments) {
    if (argument.kind !== "buffer" || argument.target?.kind !== "file") continue;
    const isSums = argument === output && sums.length > 0;
    const bytes = isSums ? new Uint8Array(sums.buffer) : new Uint8Array(argument.bytes);
    writeFileSync(argument.target.path, bytes);
  }
  const measures = { kernelNs: 41_919, wallNs: 1_000_000, bytesIn: 8_388_608, bytesOut: 4_194_304 };
  return { status: "ok", device: "Fake die", measures, proof: null };
}

const isOfBridge = (job: Job): boolean =>
  job.payload !== undefined ||
  job.arguments.some((each) => each.kind === "buffer" && each.source.kind === "memory");

function runBridgeJob(job: Job, isBlind: boolean): JobResult {
  // A kernel that was given a number for a pointer writes where there is no memory.
  if (job.arguments[0]?.kind === "scalar") {
    const name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return {
      status: "device_error",
      cause: { name, code: 700, call: "cuCtxSynchronize", message: "a wild pointer" },
    };
  }
  const isMutated = job.entry === "vadd_mutated" && !isBlind;
  return runFast(isMutated || job.entry !== "vadd_mutated" ? job : { ...job, entry: "vadd" });
}

/** Flips a bit of the last byte that the job wrote, and says nothing. */
function spoilOutput(job: Job): void {
  const [output] = job.arguments;
  if (output?.kind !== "buffer" || output.target === null) return;
  const { target, bytes } = output;
  const path = target.kind === "payload" ? (job.payload?.output?.path ?? "") : target.path;
  const start = target.kind === "file" ? 0 : target.offset;
  const file = openSync(path, "r+");
  const last = new Uint8Array(1);
  readSync(file, last, 0, 1, start + bytes - 1);
  writeSync(
    file,
    last.map((byte) => byte ^ 1),
    0,
    1,
    start + bytes - 1,
  );
  closeSync(file);
}
