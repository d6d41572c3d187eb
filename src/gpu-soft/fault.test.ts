import assert from "node:assert/strict";
import { test } from "node:test";
import { GpuError, waitUntilIdle, type GpuContext, type Stream } from "../gpu/mod.ts";
import { FAULT_CODE } from "../ptx/mod.ts";
import { faultLoss, type FaultedLaunch, type FaultRecord } from "./fault.ts";
import { handMade, launchOf, openGpu, readWords, unwrap, withContext } from "./test-support.ts";

const LAUNCH: FaultedLaunch = {
  kernelName: "k",
  fileName: "k.ptx",
  grid: [4, 3, 2],
  block: [8, 4, 2],
};

const RECORD: FaultRecord = {
  code: FAULT_CODE.illegalAddress,
  line: 12,
  column: 5,
  address: 0x3000n,
  thread: 8 * 4 + 8 * 2 + 3,
  block: 4 * 3 + 2,
  bytes: 4,
};

const NEAREST = { address: 0x20000, bytes: 100 };

const DETAILS: readonly (readonly [change: Partial<FaultRecord>, expected: RegExp])[] = [
  [{}, /kernel k at k\.ptx:12:5, thread \(3, 2, 1\) of block \(2, 0, 1\): /],
  [{ address: 8n }, /access to 4 bytes at 0x8, a null pointer or close to one/],
  [{ address: 0x20064n }, /0 bytes past the end of the allocation of 100 bytes at 0x20000/],
  [{ address: 0x20062n }, /runs past the end of the allocation/],
  [{ address: 0x7f0000000000n }, /which is in no allocation/],
  [{ code: FAULT_CODE.misalignedAddress, address: 0x20001n }, /which is no multiple of 4/],
  [{ code: FAULT_CODE.illegalInstruction }, /the kernel executed trap/],
];

test("a fault is told with its place in the text, its thread and what is near the address", () => {
  for (const [change, expected] of DETAILS) {
    assert.match(faultLoss({ ...RECORD, ...change }, LAUNCH, NEAREST).detail, expected);
  }
  assert.equal(faultLoss(RECORD, LAUNCH, null).errorName, "CUDA_ERROR_ILLEGAL_ADDRESS");
});

/** Every call that can notice a loss, by the name that its error should carry. */
const CALLS: Readonly<Record<string, (context: GpuContext, stream: Stream) => unknown>> = {
  cuMemAlloc: (context) => context.allocate(4),
  cuMemAllocHost: (context) => context.allocateHost(4),
  cuModuleLoadDataEx: (context) => context.loadModule("", "x.ptx"),
  cuStreamCreate: (context) => context.createStream(),
  cuEventCreate: (context) => context.createEvent(),
  cuMemGetInfo: (context) => context.memory(),
  cuStreamQuery: (_context, stream) => stream.isIdle(),
};

async function loss(stream: Stream): Promise<GpuError> {
  try {
    await waitUntilIdle(stream, { timeoutMs: 20_000 });
  } catch (error) {
    if (error instanceof GpuError) return error;
    throw error;
  }
  throw new Error("the context was not lost");
}

test(
  "a fault loses its context for every call, and lets go of everything without a second error",
  withContext(async (context) => {
    const stream = context.createStream();
    const buffer = unwrap(context.allocate(64));
    const module = unwrap(context.loadModule("", "faulty.ptx"));
    const kernel = unwrap(module.kernel("fault"));
    const values = { address: 0x40n, value: 5, grid: [8, 1, 1] } as const;
    unwrap(stream.launch(launchOf(kernel, { ...values, value: 99 })));
    await waitUntilIdle(stream);
    unwrap(stream.launch(launchOf(kernel, values)));
    const { code, errorName, message, sticky } = await loss(stream);
    assert.deepEqual(
      { code, errorName, sticky },
      { code: 700, errorName: "CUDA_ERROR_ILLEGAL_ADDRESS", sticky: false },
    );
    assert.match(message, /fault at faulty\.ptx:12:5, thread \(33, 0, 0\) of block \(5, 0, 0\)/);
    for (const [call, make] of Object.entries(CALLS)) {
      assert.throws(
        () => make(context, stream),
        (error) => error instanceof GpuError && error.call === call && error.code === 700,
        call,
      );
    }
    buffer.free();
    module.unload();
    stream.close();
  }),
);

test("a lost context harms no other one, on the same device or elsewhere", async () => {
  const gpu = openGpu(2, 2);
  const [lost, beside, elsewhere] = [0, 0, 1].map((ordinal) => unwrap(gpu.openContext(ordinal)));
  assert.ok(lost !== undefined && beside !== undefined && elsewhere !== undefined);
  const sound = [beside, elsewhere].map((context) => {
    const buffer = unwrap(context.allocate(256));
    return { context, buffer, stream: context.createStream(), add: handMade(context, "add") };
  });
  const stream = lost.createStream();
  unwrap(stream.launch(launchOf(handMade(lost, "fault"))));
  await loss(stream);
  for (const { context, buffer, stream: other, add } of sound) {
    unwrap(other.launch(launchOf(add, { address: buffer.address, value: 7 })));
    await waitUntilIdle(other, { timeoutMs: 20_000 });
    assert.deepEqual(await readWords(context, buffer), new Uint32Array(64).fill(7));
  }
  for (const context of [lost, beside, elsewhere]) context.close();
  // The device itself is as good as before.
  const next = unwrap(gpu.openContext(0));
  assert.equal(next.memory().freeBytes, next.memory().totalBytes);
  next.close();
});

test(
  "a trap without a record is a fault of ours, 719, with what the engine said",
  withContext(async (context) => {
    const stream = context.createStream();
    unwrap(stream.launch(launchOf(handMade(context, "trap"))));
    const error = await loss(stream);
    assert.equal(error.code, 719);
    assert.equal(error.errorName, "CUDA_ERROR_LAUNCH_FAILED");
    assert.match(error.message, /kernel trap of hand-made\.ptx: RuntimeError: unreachable/);
  }),
);

test(
  "an endless kernel leaves the main thread free, and close ends it",
  withContext(async (context) => {
    const stream = context.createStream();
    unwrap(stream.launch(launchOf(handMade(context, "endless"), { grid: [4, 1, 1] })));
    assert.equal(await waitUntilIdle(stream, { timeoutMs: 200 }), "timeout");
    const cpuBefore = process.cpuUsage();
    context.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { user } = process.cpuUsage(cpuBefore);
    assert.ok(user < 250_000, `${user} us of processor time after close`);
    assert.throws(() => stream.isIdle(), /closed context/);
  }),
);

test(
  "work queued behind a launch that faults is never done",
  withContext(async (context) => {
    const stream = context.createStream();
    const buffer = unwrap(context.allocate(4));
    const host = unwrap(context.allocateHost(4));
    host.bytes.fill(0x11);
    unwrap(stream.launch(launchOf(handMade(context, "fault"))));
    stream.copyOut(host, 0, { buffer, offset: 0, bytes: 4 });
    await loss(stream);
    assert.deepEqual([...host.bytes], [0x11, 0x11, 0x11, 0x11]);
  }),
);
