import assert from "node:assert/strict";
import { test } from "node:test";

import { InvariantError } from "../base/mod.ts";
import type { Job, JobResult } from "../owner/mod.ts";
import type { StatusName } from "../records/mod.ts";
import { endingOf, refusedEnding } from "./ending.ts";
import { jobLineV1, jobLineV2 } from "./job-line.ts";
import { statusOf } from "./result-status.ts";
import { failedResult, refusedResult } from "./testing.ts";

const JOB = {
  payload: { input: null, output: { path: "/out", bytes: 4_194_304, placement: "rename" } },
  check: { extent: "full", reference: "vadd", elements: 9 },
} as Job;

const OK = {
  status: "ok",
  device: "NVIDIA H200",
  measures: { kernelNs: 41_919, wallNs: 1, bytesIn: 2, bytesOut: 3 },
  proof: { checked: 9, bad: 0, checksum: "392344090.5", firstSample: null, firstBad: null },
} as const satisfies JobResult;

const ECHO = { seq: 42n, op: 2, n: 1_048_576n };

test("the line of a job that went well, in both versions", () => {
  const ending = endingOf(JOB, OK);
  assert.equal(ending.status, "ok");
  assert.equal(ending.reason, null);
  assert.equal(
    jobLineV2(ECHO, ending),
    'CUBB2 seq=42 op=2 n=1048576 gpu="NVIDIA H200" kernel_ns=41919 status=ok ' +
      "checksum=392344090.500000 bad=0 out_bytes=4194304",
  );
  assert.equal(
    jobLineV1({ ...ECHO, seq: 1000n }, ending),
    'CUBB job seq=1000 op=2 n=1048576 gpu="NVIDIA H200" kernel_ns=41919 status=ok ' +
      "checksum=392344090.500000 bad=0",
  );
});

test("the line of a job that did not run", () => {
  const ending = refusedEnding({ status: "unknown_op", reason: "op 5" });
  assert.equal(
    jobLineV2({ seq: 2n ** 64n - 1n, op: 5, n: 0n }, ending),
    'CUBB2 seq=18446744073709551615 op=5 n=0 gpu="" kernel_ns=0 status=unknown_op ' +
      "checksum=0.000000 bad=0 out_bytes=0",
  );
});

test("nothing in a device's name ends the quotes or the line", () => {
  const ending = endingOf(JOB, { ...OK, device: 'a"b\\c\nd\u0000e\u007ff\u0085 é' });
  assert.match(jobLineV2(ECHO, ending), / gpu="a\?b\?c\?d\?e\?f\? é" kernel_ns/);
});

test("wrong elements make it verify_failed, with all that was measured", () => {
  const firstBad = { index: 3, expected: "1.5", actual: "NaN" };
  const ending = endingOf(JOB, {
    ...OK,
    proof: { ...OK.proof, checked: 9, bad: 2, checksum: "NaN", firstSample: null, firstBad },
  });
  assert.deepEqual([ending.status, ending.bad, ending.kernelNs], ["verify_failed", 2, 41_919]);
  assert.equal(ending.reason, "2 of 9 compared elements are wrong; element 3 is NaN, not 1.5");
  assert.match(
    jobLineV2(ECHO, ending),
    /status=verify_failed checksum=nan bad=2 out_bytes=4194304/,
  );
});

test("an end without the proof that was asked for is a bug, and never ok", () => {
  const { proof } = OK;
  assert.equal(endingOf(JOB, OK).status, "ok");
  assert.throws(() => endingOf(JOB, { ...OK, proof: null }), InvariantError);
  const less = { ...proof, checked: proof.checked - 1 };
  assert.throws(() => endingOf(JOB, { ...OK, proof: less }), InvariantError);
  const none = { ...JOB, check: { ...JOB.check, extent: "none" } } as Job;
  assert.equal(endingOf(none, { ...OK, proof: less }).status, "ok");
});

test("a failure tells the driver's number and its cause, and no result", () => {
  const ending = endingOf(JOB, failedResult("device_error", "CUDA_ERROR_ILLEGAL_ADDRESS"));
  assert.deepEqual([ending.status, ending.cudaError, ending.outBytes], ["device_error", 7, 0]);
  assert.equal(ending.reason, "fastRun: CUDA_ERROR_ILLEGAL_ADDRESS on purpose");
});

const STATUSES: readonly (readonly [JobResult, StatusName])[] = [
  [refusedResult("no_device"), "no_device"],
  [refusedResult("no_such_die"), "no_device"],
  [refusedResult("bring_up_failed"), "device_error"],
  [refusedResult("die_failed"), "device_error"],
  [refusedResult("CUDA_ERROR_OUT_OF_MEMORY"), "too_large"],
  [refusedResult("CUDA_ERROR_INVALID_PTX"), "unknown_kernel"],
  [refusedResult("CUDA_ERROR_NOT_FOUND"), "unknown_kernel"],
  [refusedResult("module_changed"), "unknown_kernel"],
  [refusedResult("argument_count"), "bad_descriptor"],
  [refusedResult("argument_type"), "bad_descriptor"],
  [refusedResult("CUDA_ERROR_INVALID_VALUE"), "bad_size"],
  [refusedResult("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "bad_size"],
  [refusedResult("check_argument"), "internal"],
  [refusedResult("nothing that we know"), "device_error"],
  [failedResult("io_error", "ENOSPC"), "io_error"],
  [failedResult("timeout", "CUDA_ERROR_LAUNCH_TIMEOUT"), "timeout"],
  [failedResult("device_error", "CUDA_ERROR_OUT_OF_MEMORY"), "device_error"],
  [failedResult("lost", "die_host_died"), "device_error"],
];

for (const [result, expected] of STATUSES) {
  if (result.status === "ok") continue;
  test(`${result.status} by ${result.cause.name} is ${expected}`, () => {
    assert.equal(statusOf(result), expected);
  });
}
