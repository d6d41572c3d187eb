import assert from "node:assert/strict";
import { test } from "node:test";
import { GpuError, type GpuRefusalCode } from "../gpu/mod.ts";
import { attempt, check, checkRelease, refusal } from "./check.ts";
import { CUDA_RESULTS, STICKY_CODES } from "./error-codes.ts";

const explain = (): string => "the request";

test("success is a value, everywhere", () => {
  check("cuInit", 0);
  checkRelease("cuMemFree_v2", 0);
  assert.deepEqual(attempt("cuMemAlloc_v2", 0, explain), { ok: true, value: undefined });
});

const refused: readonly (readonly [driverCode: number, code: GpuRefusalCode])[] = [
  [1, "invalid_value"],
  [2, "out_of_memory"],
  [46, "unavailable"],
  [101, "no_such_device"],
  [200, "invalid_ptx"],
  [209, "no_binary_for_gpu"],
  [218, "invalid_ptx"],
  [222, "unsupported_ptx_version"],
  [500, "kernel_not_found"],
  [701, "too_many_resources"],
];

for (const [driverCode, code] of refused) {
  test(`${String(CUDA_RESULTS[driverCode])} is the refusal ${code}`, () => {
    const result = attempt("cuSomething", driverCode, explain);
    assert.ok(!result.ok);
    const errorName = CUDA_RESULTS[driverCode] ?? "";
    const message = `the request (cuSomething: ${errorName} ${driverCode})`;
    assert.deepEqual(result.error, { code, driverCode, errorName, call: "cuSomething", message });
  });
}

test("no sticky code is ever a refusal", () => {
  for (const code of STICKY_CODES) {
    assert.throws(() => attempt("cuSomething", code, explain), GpuError);
  }
});

test("a call that must succeed throws, and says whether the process is lost", () => {
  const expected = { code: 700, call: "cuStreamQuery", sticky: true };
  assert.throws(() => {
    check("cuStreamQuery", 700);
  }, expected);
  assert.throws(
    () => {
      check("cuStreamQuery", 400);
    },
    { code: 400, sticky: false, message: "cuStreamQuery failed: CUDA_ERROR_INVALID_HANDLE (400)" },
  );
});

test("a release forgives a lost context, and nothing else", () => {
  checkRelease("cuMemFree_v2", 700);
  assert.throws(() => {
    checkRelease("cuMemFree_v2", 1);
  }, GpuError);
});

test("a refusal's code can be said outright", () => {
  assert.equal(refusal("dlopen", 303, "no driver", "unavailable").code, "unavailable");
  assert.equal(refusal("cuInit", 12345, "what").code, "unavailable");
});
