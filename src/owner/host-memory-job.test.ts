// Jobs whose bytes are in a file that is memory, over the fake GPU: page-locked, and staged.
import assert from "node:assert/strict";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ok } from "../base/mod.ts";
import type { Job, JobArgument, JobResult } from "./job.ts";
import { createFakeGpu, createFakeScript, openJobBench } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-memory-"));
test.after(() => rmSync(folder, { recursive: true }));

const GIB = 2 ** 30;
const path = join(folder, "ram");
const file = openSync(path, "w+");
ftruncateSync(file, 5 * GIB);
test.after(() => closeSync(file));

const COUNT = 5000;
const BYTES = 4 * COUNT;

/** Elements from `first` on: index * factor. */
const ramp = (factor: number): Float32Array =>
  Float32Array.from({ length: COUNT }, (_, index) => index * factor);

function writeAt(offset: number, values: Float32Array): void {
  writeSync(file, new Uint8Array(values.buffer), 0, values.byteLength, offset);
}

function readAt(offset: number): Float32Array {
  const bytes = new Uint8Array(BYTES);
  readSync(file, bytes, 0, BYTES, offset);
  return new Float32Array(bytes.buffer);
}

const from = (offset: number): JobArgument => ({
  kind: "buffer",
  bytes: BYTES,
  source: { kind: "memory", path, offset },
  target: null,
});

/** a and b from RAM, their sum to RAM, checked. */
const vaddJob = (a: number, b: number, c: number): Job => ({
  module: { name: "base.ptx", path: import.meta.filename },
  entry: "vadd",
  grid: [1, 1, 1],
  block: [256, 1, 1],
  sharedBytes: 0,
  timeoutMs: 1000,
  arguments: [
    {
      kind: "buffer",
      bytes: BYTES,
      source: { kind: "zero" },
      target: { kind: "memory", path, offset: c },
    },
    from(a),
    from(b),
    { kind: "scalar", type: "u32", value: String(COUNT) },
  ],
  check: {
    reference: "vadd",
    extent: "full",
    elements: COUNT,
    iterations: 0,
    sampleSeed: "0",
    sums: [{ argument: 0, type: "f32" }],
  },
});

function expectSum(result: JobResult, c: number): void {
  assert.ok(result.status === "ok", result.status === "ok" ? "" : result.cause.message);
  const { bad, checked, checksum } = result.proof ?? assert.fail("there is a proof");
  assert.deepEqual([bad, checked, checksum], [0, COUNT, String((0.75 * COUNT * (COUNT - 1)) / 2)]);
  assert.deepEqual([result.measures.bytesIn, result.measures.bytesOut], [2 * BYTES, BYTES]);
  assert.deepEqual(readAt(c), ramp(0.75));
}

for (const isAdoptRefused of [false, true]) {
  const how = isAdoptRefused ? "staged" : "page-locked";
  test(`operands and result in ${how} memory, across the border of two views`, async () => {
    const notes: string[] = [];
    const script = { ...createFakeScript(), isAdoptRefused };
    const openGpu = () => ok({ gpu: createFakeGpu(script, 1), note: null });
    const { run } = await openJobBench(openGpu, (line) => void notes.push(line));
    writeAt(4096, ramp(0.5));
    writeAt(GIB - 400, ramp(0.25));
    const c = 4 * GIB - 12;
    expectSum(await run(vaddJob(4096, GIB - 400, c)), c);
    // Again, elsewhere, with all views mapped.
    expectSum(await run(vaddJob(4096, GIB - 400, 65_536)), 65_536);
    assert.equal(notes.length, isAdoptRefused ? 1 : 0);
  });
}

const { run } = await openJobBench(() =>
  ok({ gpu: createFakeGpu(createFakeScript(), 1), note: null }),
);

const causeOf = (result: JobResult): string =>
  result.status === "ok" ? "ok" : `${result.status} ${result.cause.name}`;

test("a range beyond the memory is an io_error, and nothing is written", async () => {
  writeAt(0, ramp(0));
  writeAt(GIB, ramp(1));
  assert.equal(causeOf(await run(vaddJob(GIB, 5 * GIB - BYTES + 4, 0))), "io_error SHORT");
  assert.equal(causeOf(await run(vaddJob(GIB, GIB, 5 * GIB))), "io_error SHORT");
  assert.deepEqual(readAt(0), ramp(0));
  assert.equal(causeOf(await run(vaddJob(GIB, GIB, 5 * GIB - BYTES))), "ok", "the control");
});

test("a check whose inputs the output is written over is refused", async () => {
  const lie = (c: number): Promise<JobResult> => run(vaddJob(GIB, 2 * GIB, c));
  assert.equal(causeOf(await lie(GIB + BYTES - 4)), "refused check_argument");
  assert.equal(causeOf(await lie(2 * GIB - BYTES + 4)), "refused check_argument");
  assert.equal(causeOf(await lie(GIB + BYTES)), "ok", "the control: beside it");
});

test("memory that is cut short between jobs is an io_error, and the die goes on", async () => {
  assert.equal(causeOf(await run(vaddJob(GIB, GIB, 4 * GIB))), "ok");
  ftruncateSync(file, 4 * GIB);
  assert.equal(causeOf(await run(vaddJob(GIB, GIB, 4 * GIB))), "io_error SHORT");
  assert.equal(causeOf(await run(vaddJob(GIB, GIB, 3 * GIB))), "ok");
  ftruncateSync(file, 5 * GIB);
  assert.equal(causeOf(await run(vaddJob(GIB, GIB, 4 * GIB))), "ok");
});

test("memory is not touched by a job whose timeout was told", async () => {
  const script = createFakeScript();
  const { run } = await openJobBench(() => ok({ gpu: createFakeGpu(script, 1), note: null }));
  const [a, b, c] = [4096, 65_536, 2 * GIB];
  writeAt(a, ramp(0.5));
  writeAt(b, ramp(0.25));
  writeAt(c, ramp(7));
  script.isNextLaunchEndless = true;
  const result = await run({ ...vaddJob(a, b, c), timeoutMs: 20 });
  assert.equal(result.status, "timeout");
  assert.deepEqual(readAt(c), ramp(7));
});
