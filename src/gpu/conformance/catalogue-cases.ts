/** Every kernel of the catalogue against its reference. */
import assert from "node:assert/strict";
import { catalogueKernel, type CatalogueName } from "../catalogue.ts";
import type { DeviceBuffer } from "../gpu.ts";
import { seedPattern, selfTestA, selfTestB, WORK_ELEMENTS } from "../pattern.ts";
import {
  PROBE_THREADS,
  referenceMail,
  referenceProbe,
  referenceSlowAdd,
  referenceSumF64,
  referenceVadd,
  referenceVaddMutated,
} from "../reference.ts";
import type { KernelArgument } from "../parameters.ts";
import { checksumF64, compareF32, compareU32 } from "../verify.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { asF32, asF64, asU32, conformanceCase } from "./bench.ts";

/** None, one, around a warp and a block, no multiple of a block, and thousands of blocks. */
const ELEMENT_COUNTS = [0, 1, 31, 33, 255, 256, 257, 1000, 65_537, WORK_ELEMENTS] as const;

/** Kept after each result, to see that no surplus thread writes behind it. */
const GUARD_BYTES = 4096;
const GUARD_VALUE = 0x5a;

type Run = {
  readonly name: CatalogueName;
  readonly elements: number;
  readonly resultBytes: number;
  readonly args: (out: DeviceBuffer) => readonly KernelArgument[];
};

/** Runs a kernel into a guarded buffer and gives back the result's bytes. */
async function runGuarded(bench: Bench, run: Run): Promise<Uint8Array> {
  const module = bench.load(bench.session.kernelsPtx, "base.ptx");
  const buffer = bench.device(run.resultBytes + GUARD_BYTES);
  bench.stream.fill({ buffer, offset: 0, bytes: buffer.bytes }, GUARD_VALUE);
  bench.launchCatalogue(module, catalogueKernel(run.name), run.elements, run.args(buffer));
  const bytes = await bench.download({ buffer, offset: 0, bytes: buffer.bytes });
  const guard = bytes.subarray(run.resultBytes);
  assert.ok(
    guard.every((byte) => byte === GUARD_VALUE),
    `${run.name} of ${run.elements} wrote behind its result`,
  );
  return bytes.slice(0, run.resultBytes);
}

/** Uploads; no elements still need an address, so one spare element is sent. */
const uploadSome = (bench: Bench, values: Float32Array | Uint32Array): Promise<DeviceBuffer> =>
  bench.upload(values.length > 0 ? values : new Uint32Array(1));

const u32 = (value: number): KernelArgument => ({ type: "u32", value });

async function checkMail(bench: Bench, elements: number): Promise<void> {
  const words = Uint32Array.from({ length: elements }, (_, index) =>
    Math.imul(index + 1, 0x9e3779b1),
  );
  const input = await uploadSome(bench, words);
  const bytes = await runGuarded(bench, {
    name: "mail",
    elements,
    resultBytes: words.byteLength,
    args: (out) => [{ buffer: out }, { buffer: input }, u32(elements)],
  });
  assert.equal(compareU32(referenceMail(words), asU32(bytes)).bad, 0);
}

async function runVadd(bench: Bench, name: "vadd" | "vadd_mutated", elements: number) {
  const [a, b] = [selfTestA(elements), selfTestB(elements)];
  const [deviceA, deviceB] = [await uploadSome(bench, a), await uploadSome(bench, b)];
  const bytes = await runGuarded(bench, {
    name,
    elements,
    resultBytes: a.byteLength,
    args: (out) => [{ buffer: out }, { buffer: deviceA }, { buffer: deviceB }, u32(elements)],
  });
  return { a, b, sums: asF32(bytes) };
}

async function checkSlowAdd(bench: Bench, elements: number): Promise<void> {
  const iterations = 37;
  const values = seedPattern(elements, elements);
  const input = await uploadSome(bench, values);
  const bytes = await runGuarded(bench, {
    name: "slow_add",
    elements,
    resultBytes: values.byteLength,
    args: (out) => [{ buffer: out }, { buffer: input }, u32(elements), u32(iterations)],
  });
  assert.equal(compareF32(referenceSlowAdd(values, iterations), asF32(bytes)).bad, 0);
}

async function checkSum(bench: Bench, elements: number): Promise<void> {
  const { gridBlocks, blockThreads } = catalogueKernel("sum_f64");
  // Thirds are not exact, so that a different order of additions shows.
  const values = seedPattern(9, elements).map((value) => value / 3);
  const input = await uploadSome(bench, values);
  const blocks = gridBlocks(elements);
  const bytes = await runGuarded(bench, {
    name: "sum_f64",
    elements,
    resultBytes: 8 * blocks,
    args: (out) => [{ buffer: out }, { buffer: input }, u32(elements)],
  });
  assert.deepEqual(asF64(bytes), referenceSumF64(values, blocks, blockThreads));
}

const each = (check: (bench: Bench, elements: number) => Promise<void>) => {
  return async (bench: Bench): Promise<void> => {
    for (const elements of ELEMENT_COUNTS) await check(bench, elements);
  };
};

export const CATALOGUE_CASES: readonly ConformanceCase[] = [
  conformanceCase("mail delivers every word unchanged, at every size", each(checkMail)),
  conformanceCase(
    "vadd is right to the bit, at every size",
    each(async (bench, elements) => {
      const { a, b, sums } = await runVadd(bench, "vadd", elements);
      assert.equal(compareF32(referenceVadd(a, b), sums).bad, 0);
      if (elements === WORK_ELEMENTS) assert.equal(checksumF64(sums), 392344090.5);
    }),
  ),
  conformanceCase(
    "vadd_mutated differs from vadd in every element, so the check can fail",
    each(async (bench, elements) => {
      const { a, b, sums } = await runVadd(bench, "vadd_mutated", elements);
      assert.equal(compareF32(referenceVaddMutated(a, b), sums).bad, 0);
      assert.equal(compareF32(referenceVadd(a, b), sums).bad, elements);
      if (elements === WORK_ELEMENTS) {
        assert.equal(checksumF64(sums), 392344090.5 + WORK_ELEMENTS);
      }
    }),
  ),
  conformanceCase("slow_add adds one again and again, at every size", each(checkSlowAdd)),
  conformanceCase("sum_f64 adds in its stated order, at every size", each(checkSum)),
  conformanceCase("probe answers each token with its own words", async (bench) => {
    for (const token of [0, 1, 0xdeadbeef, 0xffffffff]) {
      const bytes = await runGuarded(bench, {
        name: "probe",
        elements: PROBE_THREADS,
        resultBytes: 4 * PROBE_THREADS,
        args: (out) => [{ buffer: out }, u32(token)],
      });
      assert.deepEqual(asU32(bytes), referenceProbe(token));
    }
  }),
  conformanceCase("slow_add sticks at 2^24, as an f32 does", checkSticking),
];

async function checkSticking(bench: Bench): Promise<void> {
  const values = Float32Array.of(2 ** 24 - 3, 2 ** 24, 2 ** 24 + 2, -2.5, 0.1, Infinity);
  const input = await bench.upload(values);
  const bytes = await runGuarded(bench, {
    name: "slow_add",
    elements: values.length,
    resultBytes: values.byteLength,
    args: (out) => [{ buffer: out }, { buffer: input }, u32(values.length), u32(9)],
  });
  assert.equal(compareF32(referenceSlowAdd(values, 9), asF32(bytes)).bad, 0);
}
