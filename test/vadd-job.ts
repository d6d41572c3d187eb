/** The job that the published figures are of, for tests on real backends. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { catalogueKernel, launchShape, selfTestA, selfTestB } from "../src/gpu/mod.ts";
import type { Job, JobArgument, JobProof, JobResult } from "../src/owner/mod.ts";

export const basePath = fileURLToPath(new URL("../../kernels/base.ptx", import.meta.url));
export const base = { name: "base.ptx", path: basePath };

/** vadd over the self-test's operands, in one payload; its files are in `folder`. */
export function vaddJobIn(folder: string, elements: number, entry: "vadd" | "vadd_mutated"): Job {
  const bytes = 4 * elements;
  const [input, output] = [join(folder, "in"), join(folder, "out")];
  const operands = [selfTestA(elements), selfTestB(elements)].map(
    ({ buffer }) => new Uint8Array(buffer),
  );
  writeFileSync(input, Buffer.concat(operands));
  const operand = (offset: number): JobArgument => ({
    kind: "buffer",
    bytes,
    source: { kind: "payload", offset },
    target: null,
  });
  const target = { kind: "payload", offset: 0 } as const;
  return {
    module: base,
    entry,
    ...launchShape(catalogueKernel(entry), elements),
    sharedBytes: 0,
    timeoutMs: 60_000,
    payload: {
      input: { path: input, bytes: 2 * bytes },
      output: { path: output, bytes, placement: "rename" },
    },
    arguments: [
      { kind: "buffer", bytes, source: { kind: "zero" }, target },
      operand(0),
      operand(bytes),
      { kind: "scalar", type: "u32", value: String(elements) },
    ],
    check: {
      reference: "vadd",
      extent: "full",
      elements,
      iterations: 0,
      sampleSeed: "1",
      sums: [{ argument: 0, type: "f32" }],
    },
  };
}

/** The proof of a job that went well. */
export function proofOf(result: JobResult): JobProof {
  assert.ok(result.status === "ok", result.status === "ok" ? "" : result.cause.message);
  assert.ok(result.proof !== null);
  return result.proof;
}
