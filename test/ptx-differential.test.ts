// Random programs on both engines: the interpreter and compiled code leave the same memory.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { compileFront, formatDiagnostic } from "../src/ptx/mod.ts";
import type { EngineOutcome } from "./ptx-cases.ts";
import { runCompiled, runInterpreter } from "./ptx-engines.ts";
import {
  F64_RESULTS,
  INPUT_BYTES,
  PROGRAM_BLOCKS,
  PROGRAM_THREADS,
  randomProgram,
  RESULT_BYTES,
} from "./ptx-program.ts";

const PROGRAMS = 120;

/** Floats of all magnitudes, special values and integers, at every alignment of 8. */
function inputBytes(seed: number): Uint8Array {
  const bytes = new Uint8Array(INPUT_BYTES);
  const view = new DataView(bytes.buffer);
  const singles = [0, -0, 1, -1.5, NaN, Infinity, 1e-40, -1e-42, 3.4e38, 1e-38, 0.1, -7e9, 255.5];
  const doubles = [0, -0, 1, NaN, -Infinity, 1e-310, 1.7e308, 1e-300, 0.1, -3, 2 ** 52, 1e18];
  for (let offset = 0; offset < INPUT_BYTES; offset += 8) {
    const choice = Math.imul(offset + seed, 0x9e3779b1) >>> 8;
    if (choice % 3 === 0) view.setFloat64(offset, doubles[choice % doubles.length] ?? 0, true);
    else if (choice % 3 === 1) {
      view.setFloat32(offset, singles[choice % singles.length] ?? 0, true);
      view.setFloat32(offset + 4, singles[(choice >>> 5) % singles.length] ?? 0, true);
    } else {
      view.setInt32(offset, choice % 100, true);
      view.setInt32(offset + 4, Math.imul(choice, 0x85ebca6b), true);
    }
  }
  return bytes;
}

/** Makes every f64 NaN the same: an engine may keep its payload or not. */
function settleNans(bytes: Uint8Array): Uint8Array {
  const settled = bytes.slice();
  const view = new DataView(settled.buffer);
  for (let thread = 0; thread < bytes.length / RESULT_BYTES; thread += 1) {
    for (let offset = F64_RESULTS.start; offset < F64_RESULTS.end; offset += 8) {
      const at = thread * RESULT_BYTES + offset;
      if (Number.isNaN(view.getFloat64(at, true))) view.setFloat64(at, NaN, true);
    }
  }
  return settled;
}

/** What the program stored; it cannot fault. */
function resultsOf(outcome: EngineOutcome): Uint8Array {
  assert.ok(outcome.kind === "finished", `fault ${JSON.stringify(outcome)}`);
  return settleNans(outcome.buffers[1] ?? new Uint8Array());
}

function checkProgram(seed: number): void {
  const text = randomProgram(seed);
  const module = compileFront(text, "random.ptx");
  assert.ok(module.ok, module.ok ? "" : `${formatDiagnostic(module.error)}\n${text}`);
  const kernel = module.value.entries[0]?.lower();
  assert.ok(kernel?.ok, kernel?.ok === false ? `${formatDiagnostic(kernel.error)}\n${text}` : "");
  const results = new Uint8Array(PROGRAM_THREADS * PROGRAM_BLOCKS * RESULT_BYTES);
  const request = {
    module: module.value,
    kernel: kernel.value,
    grid: [PROGRAM_BLOCKS, 1, 1],
    block: [PROGRAM_THREADS, 1, 1],
    dynamicSharedBytes: 0,
    arguments: [
      { kind: "buffer", bytes: inputBytes(seed) },
      { kind: "buffer", bytes: results },
    ],
  } as const;
  const [expected, found] = [runInterpreter(request), runCompiled(request)];
  assert.deepEqual(resultsOf(found), resultsOf(expected), text);
}

suite("interpreter and compiled code agree", () => {
  test(`on ${PROGRAMS} random programs`, () => {
    fc.assert(fc.property(fc.integer(), checkProgram), { numRuns: PROGRAMS });
  });
});
