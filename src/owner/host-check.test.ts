// What a die host proves of outputs, over the fake GPU.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import fc from "fast-check";

import { ok } from "../base/mod.ts";
import {
  SAMPLE_PAGE_ELEMENTS,
  sampleCount,
  samplePages,
  selfTestA,
  selfTestB,
} from "../gpu/mod.ts";
import type { ByteSource, Job, JobArgument, JobCheck, JobProof } from "./job.ts";
import { createFakeGpu, createFakeScript, openJobBench } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-check-"));
test.after(() => rmSync(folder, { recursive: true }));

const script = createFakeScript();
const { run } = await openJobBench(() => ok({ gpu: createFakeGpu(script, 1), note: null }));

const input = join(folder, "in");
const output = join(folder, "out");

const u32 = (value: number): JobArgument => ({ kind: "scalar", type: "u32", value: String(value) });

type Operation = {
  readonly entry: string;
  readonly operands: readonly (Float32Array | Uint32Array)[];
  readonly iterations?: number;
  readonly check: Partial<JobCheck>;
};

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A catalogue kernel over payload operands, output to the payload, as a record asks for it. */
function jobOf({ entry, operands, iterations, check }: Operation): Job {
  const [elements, bytes] = [operands[0]?.length ?? 0, operands[0]?.byteLength ?? 0];
  writeFileSync(input, Buffer.concat(operands.map(bytesOf)));
  const type = entry === "mail" ? "u32" : "f32";
  return {
    module: { name: "base.ptx", path: import.meta.filename },
    entry,
    grid: [1, 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    timeoutMs: 1000,
    payload: {
      input: { path: input, bytes: bytes * operands.length },
      output: { path: output, bytes, placement: "rename" },
    },
    arguments: [
      {
        kind: "buffer",
        bytes,
        source: { kind: "zero" },
        target: { kind: "payload", offset: 0 },
      },
      ...operands.map((_, index): JobArgument => ({
        kind: "buffer",
        bytes,
        source: { kind: "payload", offset: index * bytes },
        target: null,
      })),
      u32(elements),
      ...(iterations === undefined ? [] : [u32(iterations)]),
    ],
    check: {
      reference: entry as JobCheck["reference"],
      extent: "full",
      elements,
      iterations: iterations ?? 0,
      sampleSeed: "42",
      sums: [{ argument: 0, type }],
      ...check,
    },
  };
}

async function proofOf(job: Job): Promise<JobProof> {
  const result = await run(job);
  assert.ok(result.status === "ok", result.status === "ok" ? "" : result.cause.message);
  assert.ok(result.proof !== null);
  return result.proof;
}

const causeOf = async (job: Job): Promise<string> => {
  const result = await run(job);
  return result.status === "ok" ? "ok" : `${result.status} ${result.cause.name}`;
};

const vadd = (elements: number, check: Partial<JobCheck> = {}, entry = "vadd"): Job =>
  jobOf({ entry, operands: [selfTestA(elements), selfTestB(elements)], check });

/** Spoils one word of the output of the launches that follow. */
function spoil(index: number): void {
  script.onOutput = (bytes) => void (bytes[4 * index] = (bytes[4 * index] ?? 0) ^ 1);
}

test.afterEach(() => void (script.onOutput = () => undefined));

test("vadd's published checksum, every element compared", async () => {
  assert.deepEqual(await proofOf(vadd(2 ** 20)), {
    checked: 2 ** 20,
    bad: 0,
    checksum: "392344090.5",
    firstSample: "0",
    firstBad: null,
  });
});

test("the mutated kernel differs from vadd's reference in every element", async () => {
  const proof = await proofOf(vadd(1000, { reference: "vadd" }, "vadd_mutated"));
  assert.deepEqual([proof.checked, proof.bad, proof.firstSample], [1000, 1000, "1"]);
  assert.deepEqual(proof.firstBad, { index: 0, expected: "0", actual: "1" });
  assert.equal((await proofOf(vadd(1000, {}, "vadd_mutated"))).bad, 0);
});

test("mail and slow_add have their references", async () => {
  const words = Uint32Array.of(0, 1, 2 ** 32 - 1);
  const mail = await proofOf(jobOf({ entry: "mail", operands: [words], check: {} }));
  assert.deepEqual([mail.checked, mail.bad, mail.checksum], [3, 0, "4294967296"]);
  const operands = [Float32Array.of(0.5, -3, 2 ** 24, NaN)];
  const slow = await proofOf(jobOf({ entry: "slow_add", operands, iterations: 9, check: {} }));
  assert.deepEqual([slow.checked, slow.bad, slow.checksum], [4, 0, "NaN"]);
  const wrong = { iterations: 8 };
  const off = await proofOf(jobOf({ entry: "slow_add", operands, iterations: 9, check: wrong }));
  assert.deepEqual([off.bad, off.firstBad?.index], [2, 0]);
});

test("NaN, infinities, zeros of both signs and subnormals are compared bit for bit", async () => {
  const a = Float32Array.of(NaN, Infinity, Infinity, -0, 2 ** -149, 3e38);
  const b = Float32Array.of(1, -Infinity, 1, -0, 2 ** -149, 3e38);
  const job = jobOf({ entry: "vadd", operands: [a, b], check: {} });
  assert.equal((await proofOf(job)).bad, 0);
  script.onOutput = (bytes) => void (bytes[4 * 3 + 3] = 0);
  const proof = await proofOf(job);
  assert.deepEqual(proof.firstBad, { index: 3, expected: "-0", actual: "0" });
  assert.equal(proof.bad, 1);
});

test("one wrong bit is found, also in the last element", async () => {
  for (const index of [0, 1023, 1024, 2499]) {
    spoil(index);
    const proof = await proofOf(vadd(2500));
    assert.deepEqual([proof.checked, proof.bad, proof.firstBad?.index], [2500, 1, index]);
  }
});

test("property: a sample finds a wrong element where it looks, and nowhere else", async () => {
  const elements = 100 * SAMPLE_PAGE_ELEMENTS + 7;
  const pages = 101;
  await fc.assert(
    fc.asyncProperty(fc.nat(elements - 1), fc.nat(2 ** 31), async (index, seed) => {
      spoil(index);
      const proof = await proofOf(vadd(elements, { extent: "sample", sampleSeed: String(seed) }));
      const looked = samplePages(pages, BigInt(seed));
      const isLast = looked.includes(pages - 1);
      const short = isLast ? SAMPLE_PAGE_ELEMENTS - 7 : 0;
      assert.equal(proof.checked, sampleCount(pages) * SAMPLE_PAGE_ELEMENTS - short);
      const page = Math.floor(index / SAMPLE_PAGE_ELEMENTS);
      assert.equal(proof.bad, looked.includes(page) ? 1 : 0);
      assert.equal(proof.firstBad?.index ?? index, index);
    }),
    { numRuns: 30 },
  );
});

test("the checksum is over everything, whatever is compared", async () => {
  const full = await proofOf(vadd(70_000));
  for (const extent of ["sample", "none"] as const) {
    const proof = await proofOf(vadd(70_000, { extent }));
    assert.equal(proof.checksum, full.checksum);
    // 69 pages, of which 64 are looked at, and the last is not full.
    const isSampled = proof.checked > 63 * 1024 && proof.checked <= 64 * 1024;
    assert.ok(extent === "none" ? proof.checked === 0 : isSampled);
  }
});

test("outputs that nobody wants back and inputs that are made are checked, too", async () => {
  const bytes = 4 * 3000;
  const path = join(folder, "region");
  writeFileSync(path, Buffer.concat([Buffer.alloc(5), bytesOf(selfTestA(3000))]));
  const sources: readonly ByteSource[] = [
    { kind: "file", region: { path, offset: 5, bytes } },
    { kind: "pattern", pattern: { kind: "ramp", scale: 0.5, modulus: 1000 } },
    { kind: "zero" },
  ];
  for (const source of sources) {
    const job = vadd(3000);
    const [, , b, count] = job.arguments;
    assert.ok(b !== undefined && count !== undefined);
    const arrays: JobArgument[] = [
      { kind: "buffer", bytes, source: { kind: "zero" }, target: null },
      { kind: "buffer", bytes, source, target: null },
    ];
    spoil(2999);
    const proof = await proofOf({ ...job, arguments: [...arrays, b, count] });
    assert.deepEqual([proof.checked, proof.bad, proof.firstBad?.index], [3000, 1, 2999]);
  }
});

test("sums run over several outputs, each by its own type", async () => {
  const values = new Float32Array(new BigUint64Array([1n, 2n ** 64n - 1n]).buffer);
  const job = jobOf({ entry: "mail", operands: [new Uint32Array(values.buffer)], check: {} });
  const check = (sums: JobCheck["sums"]): Job["check"] =>
    job.check && { ...job.check, reference: null, sums };
  const cases = [
    ["u64", String(1 + (2 ** 64 - 1)), "1"],
    ["s64", "0", "1"],
    ["u8", String(1 + 8 * 255), "1"],
    ["s8", "-7", "1"],
    ["u16", String(1 + 4 * 65535), "1"],
    ["s16", "-3", "1"],
    ["s32", "-1", "1"],
    ["f64", "NaN", String(Number.MIN_VALUE)],
  ] as const;
  for (const [type, checksum, firstSample] of cases) {
    const made = check([{ argument: 0, type }]);
    assert.ok(made !== undefined);
    const proof = await proofOf({ ...job, check: made });
    assert.deepEqual(
      [proof.checksum, proof.firstSample, proof.checked],
      [checksum, firstSample, 0],
    );
  }
  const twice = check([
    { argument: 0, type: "s8" },
    { argument: 1, type: "s16" },
  ]);
  assert.ok(twice !== undefined);
  assert.equal((await proofOf({ ...job, check: twice })).checksum, "-10");
  const nothing = check([]);
  assert.ok(nothing !== undefined);
  const proof = await proofOf({ ...job, check: nothing });
  assert.deepEqual([proof.checksum, proof.firstSample], ["0", null]);
});

const refusals: readonly (readonly [name: string, check: Partial<JobCheck>, cause: string])[] = [
  ["the control", {}, "ok"],
  ["more elements than there are", { elements: 11 }, "refused check_argument"],
  ["a sum over a number", { sums: [{ argument: 3, type: "u32" }] }, "refused check_argument"],
  ["a sum over no argument", { sums: [{ argument: 9, type: "u32" }] }, "refused check_argument"],
  ["a kernel without a reference", { reference: "sum_f64" }, "refused check_argument"],
  ["another kernel's arguments", { reference: "slow_add", elements: 11 }, "refused check_argument"],
];

for (const [name, check, cause] of refusals) {
  test(`a check of ${name}: ${cause}`, async () => {
    rmSync(output, { force: true });
    assert.equal(await causeOf(vadd(10, check)), cause);
    if (cause !== "ok") assert.throws(() => readFileSync(output), "nothing was written");
  });
}

test("a job without a check has no proof", async () => {
  const { check, ...job } = vadd(10);
  assert.ok(check !== undefined);
  const result = await run(job);
  assert.ok(result.status === "ok");
  assert.equal(result.proof, null);
});
