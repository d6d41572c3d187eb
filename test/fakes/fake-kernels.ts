// The kernels of base.ptx that the demo runs, on the CPU: reads a job's generated inputs, writes
// its output file.
import { writeFileSync } from "node:fs";
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

/** `isBlind`: the mutated kernel is not mutated. */
export function runFakeKernel(job: Job, isBlind: boolean): JobResult {
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
