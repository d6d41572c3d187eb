import assert from "node:assert/strict";
import { test } from "node:test";
import { SAMPLE_NAMES, SAMPLE_PTX } from "./sample-ptx.ts";
import { readSimpleSignatures } from "./simple-signatures.ts";

test("readSimpleSignatures lists the entries in order", () => {
  const kernels = readSimpleSignatures(SAMPLE_PTX, "sample.ptx");
  assert.ok(kernels.ok);
  assert.deepEqual(
    kernels.value.map((kernel) => kernel.name),
    SAMPLE_NAMES,
  );
});

test("readSimpleSignatures aligns each parameter to its own size or its .align", () => {
  const kernels = readSimpleSignatures(SAMPLE_PTX, "sample.ptx");
  assert.ok(kernels.ok);
  const gather = kernels.value.find((kernel) => kernel.name === "gather");
  assert.ok(gather !== undefined);
  assert.deepEqual(
    gather.parameters.map(({ type, offset, bytes }) => [type, offset, bytes]),
    [
      ["u64", 0, 8],
      ["u8", 8, 1],
      ["u16", 10, 2],
      ["u32", 12, 4],
      ["u64", 16, 8],
      ["f32", 24, 4],
      ["f64", 32, 8],
      ["b8", 40, 24],
      ["u16", 64, 2],
      ["u32", 68, 4],
      ["u64", 72, 8],
    ],
  );
  assert.equal(gather.parameterBytes, 80);
});

test("readSimpleSignatures says which parameter it cannot read", () => {
  const kernels = readSimpleSignatures(".entry k(.param .texref t) {}", "odd.ptx");
  assert.ok(!kernels.ok);
  assert.match(kernels.error.message, /odd\.ptx: k .*\.texref t/);
});

test("readSimpleSignatures takes an entry without parameters", () => {
  const kernels = readSimpleSignatures(".visible .entry k() { ret; }", "none.ptx");
  assert.deepEqual(kernels.ok && kernels.value, [{ name: "k", parameters: [], parameterBytes: 0 }]);
});
