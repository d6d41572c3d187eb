/** PTX that loads, and PTX that must not. */
import assert from "node:assert/strict";
import { CATALOGUE } from "../catalogue.ts";
import type { GpuRefusalCode } from "../error.ts";
import { packParameters } from "../parameters.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { conformanceCase, expectOk } from "./bench.ts";
import { BROKEN_PTX, SAMPLE_NAMES, SAMPLE_PTX } from "./sample-ptx.ts";

type Broken = readonly [
  what: string,
  ptx: string,
  codes: readonly GpuRefusalCode[],
  driverCodes: readonly number[],
];

const BROKEN: readonly Broken[] = [
  ["empty PTX", BROKEN_PTX.empty, ["invalid_ptx"], [200, 218]],
  ["prose", BROKEN_PTX.prose, ["invalid_ptx"], [200, 218]],
  ["truncated PTX", BROKEN_PTX.truncated, ["invalid_ptx"], [218]],
  [
    "an unknown instruction",
    BROKEN_PTX.unknownInstruction,
    ["invalid_ptx", "unsupported_instruction"],
    [218],
  ],
  ["PTX with a NUL inside", BROKEN_PTX.withNul, ["invalid_ptx"], [218]],
  ["PTX from the future", BROKEN_PTX.tooNew, ["unsupported_ptx_version"], [222]],
];

const brokenCases = BROKEN.map(([what, ptx, codes, driverCodes]): ConformanceCase => {
  return {
    name: `${what} is refused with a message that names the module, and the context goes on`,
    run: ({ context }) => {
      const refused = context.loadModule(ptx, "broken-module.ptx");
      assert.ok(!refused.ok);
      assert.ok(codes.includes(refused.error.code), refused.error.code);
      assert.ok(driverCodes.includes(refused.error.driverCode), `${refused.error.driverCode}`);
      assert.match(refused.error.errorName, /^CUDA_ERROR_/);
      assert.match(refused.error.message, /broken-module\.ptx/);
      expectOk(context.loadModule(SAMPLE_PTX, "sample.ptx")).unload();
    },
  };
});

function checkSignatures(bench: Bench): void {
  const module = bench.load(bench.session.kernelsPtx, "base.ptx");
  for (const { entry, parameters } of CATALOGUE) {
    const kernel = expectOk(module.kernel(entry));
    const bytes = parameters.map(({ kind, type }) =>
      kind !== "number" || type.endsWith("64") ? 8 : 4,
    );
    assert.deepEqual(
      kernel.parameters.map((parameter) => parameter.bytes),
      bytes,
      entry,
    );
    for (const [index, { offset }] of kernel.parameters.entries()) {
      const before = kernel.parameters[index - 1];
      assert.ok(offset >= (before === undefined ? 0 : before.offset + before.bytes));
    }
  }
}

export const MODULE_CASES: readonly ConformanceCase[] = [
  conformanceCase("a module lists its entries in the order of the text", (bench) => {
    const module = bench.load(SAMPLE_PTX, "sample.ptx");
    assert.equal(module.name, "sample.ptx");
    assert.deepEqual(module.kernelNames, SAMPLE_NAMES);
  }),
  conformanceCase(
    "the shipped module holds the catalogue's kernels, with the catalogue's signatures",
    checkSignatures,
  ),
  conformanceCase("a kernel that a module does not hold is refused by name", (bench) => {
    const refused = bench.load(SAMPLE_PTX, "sample.ptx").kernel("no_such_kernel");
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "kernel_not_found");
    assert.equal(refused.error.driverCode, 500);
    assert.match(refused.error.message, /no_such_kernel/);
    assert.match(refused.error.message, /sample\.ptx/);
  }),
  conformanceCase(
    "arguments that do not fit a loaded kernel are refused before any launch",
    (bench) => {
      const kernel = expectOk(bench.load(bench.session.kernelsPtx, "base.ptx").kernel("mail"));
      const buffer = bench.device(16);
      const count = { type: "u32", value: 4 } as const;
      assert.ok(packParameters(kernel, [{ buffer }, { buffer }, count]).ok);
      const short = packParameters(kernel, [{ buffer }, count]);
      assert.ok(!short.ok && short.error.code === "argument_count");
      const wide = packParameters(kernel, [{ buffer }, { buffer }, { type: "u64", value: 4 }]);
      assert.ok(!wide.ok && wide.error.code === "argument_size");
    },
  ),
  conformanceCase("one text can be loaded twice and unloaded apart", (bench) => {
    const first = expectOk(bench.context.loadModule(SAMPLE_PTX, "first.ptx"));
    const second = bench.load(SAMPLE_PTX, "second.ptx");
    first.unload();
    expectOk(second.kernel("coordinates"));
  }),
  ...brokenCases,
];
