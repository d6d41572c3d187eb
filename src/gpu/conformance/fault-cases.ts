/**
 * Kernels that fault. Each loses its context, and on CUDA the whole process (measured on an H200
 * under driver 580: after error 700 every later call of that process fails with 700), so there each
 * runs in a child process of its own.
 */
import assert from "node:assert/strict";
import { GpuError } from "../error.ts";
import { packParameters } from "../parameters.ts";
import { waitUntilIdle } from "../wait.ts";
import type { ConformanceCase } from "./bench.ts";
import { Bench, expectOk } from "./bench.ts";
import { FAULT_PTX } from "./sample-ptx.ts";

/** Address 256 is in no allocation of any backend: the first pages are never given out. */
const NOWHERE = 256n;

type Fault = {
  readonly name: string;
  readonly entry: string;
  /** What the kernel is handed, given the address of a sound buffer. */
  readonly address: (sound: bigint) => bigint;
  readonly codes: readonly number[];
};

const FAULTS: readonly Fault[] = [
  {
    name: "a store outside every allocation is error 700, from then on for the whole context",
    entry: "oob",
    address: () => NOWHERE,
    codes: [700],
  },
  {
    name: "a store at an odd address is error 716, from then on for the whole context",
    entry: "misaligned",
    address: (sound) => sound + 1n,
    codes: [716],
  },
  {
    // Which of the two depends on the driver; both say that the kernel ended itself.
    name: "a trap is error 715 or 719, from then on for the whole context",
    entry: "trap",
    address: (sound) => sound,
    codes: [715, 719],
  },
];

async function checkFault(bench: Bench, fault: Fault): Promise<void> {
  const context = expectOk(bench.session.gpu.openContext(0));
  const inner = new Bench(bench.session, context);
  const module = inner.load(FAULT_PTX, "fault.ptx");
  const buffer = inner.device(64);
  const kernel = expectOk(module.kernel(fault.entry));
  const value = fault.address(buffer.address);
  const parameters = expectOk(packParameters(kernel, [{ type: "u64", value }]));
  const launch = { kernel, grid: [1, 1, 1], block: [1, 1, 1], sharedBytes: 0, parameters } as const;
  const isExpected = (error: unknown): true => {
    assert.ok(error instanceof GpuError);
    assert.ok(fault.codes.includes(error.code), error.message);
    assert.match(error.errorName, /^CUDA_ERROR_/);
    assert.ok(error.message.includes(error.call) && error.message.includes(error.errorName));
    return true;
  };
  await assert.rejects(async () => {
    expectOk(inner.stream.launch(launch));
    await waitUntilIdle(inner.stream, { timeoutMs: 60_000 });
  }, isExpected);
  assert.throws(() => inner.stream.isIdle(), isExpected);
  assert.throws(() => inner.stream.launch(launch), isExpected);
  assert.throws(() => context.allocate(64), isExpected);
  // What is lost can still be let go of, without a second error.
  inner.release();
  context.close();
}

export const FAULT_CASES: readonly ConformanceCase[] = FAULTS.map((fault) => ({
  name: fault.name,
  run: (bench) => checkFault(bench, fault),
}));
