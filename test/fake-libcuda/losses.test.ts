// What is lost and how it is told; and kernels that do not end.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { waitUntilIdle, waitUntilReached, type GpuContext } from "../../src/gpu/mod.ts";
import { CATALOGUE_PTX } from "./catalogue-ptx.ts";
import {
  clearScript,
  isGpuError,
  openContext,
  openSlowAdd,
  script,
  skip,
  value,
} from "./fake-session.ts";

afterEach(clearScript);

const lostCalls: readonly (readonly [call: string, act: (cuda: GpuContext) => unknown])[] = [
  ["cuMemAlloc_v2", (cuda) => cuda.allocate(1)],
  ["cuMemAllocHost_v2", (cuda) => cuda.allocateHost(1)],
  ["cuMemGetInfo_v2", (cuda) => cuda.memory()],
  ["cuStreamCreate", (cuda) => cuda.createStream()],
  ["cuEventCreate", (cuda) => cuda.createEvent()],
  ["cuModuleLoadDataEx", (cuda) => cuda.loadModule(CATALOGUE_PTX, "base.ptx")],
  ["cuStreamQuery", (cuda) => cuda.createStream().isIdle()],
  ["cuEventQuery", (cuda) => cuda.createEvent().isReached()],
  [
    "cuEventRecord",
    (cuda) => {
      cuda.createStream().record(cuda.createEvent());
    },
  ],
];

for (const [call, act] of lostCalls) {
  test(`${call} that loses the device throws, and names itself`, { skip }, (context) => {
    const cuda = openContext(context);
    script("FAIL", `${call}=719`);
    const errorName = "CUDA_ERROR_LAUNCH_FAILED";
    assert.throws(() => act(cuda), isGpuError({ code: 719, errorName, call, sticky: true }));
    script("FAIL", `${call}=400`);
    const handle = "CUDA_ERROR_INVALID_HANDLE";
    assert.throws(() => act(cuda), isGpuError({ errorName: handle, call, sticky: false }));
    script("FAIL", "");
    act(cuda);
  });
}

test("a number that the table does not know is told as it is", { skip }, (context) => {
  const cuda = openContext(context);
  script("FAIL", "cuStreamCreate=12345");
  const errorName = "CUDA_ERROR_UNLISTED";
  assert.throws(() => cuda.createStream(), isGpuError({ code: 12345, errorName, sticky: false }));
});

test(
  "a kernel that does not end is a timeout, for a stream and for an event",
  { skip },
  async (context) => {
    const { cuda, stream, launch } = openSlowAdd(context);
    script("BUSY", "-1");
    value(stream.launch(launch));
    const event = cuda.createEvent();
    stream.record(event);
    assert.equal(await waitUntilIdle(stream, { timeoutMs: 20 }), "timeout");
    assert.equal(await waitUntilReached(event, { timeoutMs: 20 }), "timeout");
  },
);

test("a kernel that takes its time is waited for", { skip }, async (context) => {
  const { stream, launch } = openSlowAdd(context);
  script("BUSY", "30");
  value(stream.launch(launch));
  assert.equal(stream.isIdle(), false);
  assert.equal(await waitUntilIdle(stream, { timeoutMs: 60_000 }), "done");
  assert.equal(stream.isIdle(), true);
});

test("a launch without resources is refused, a lost one throws", { skip }, (context) => {
  const { stream, launch } = openSlowAdd(context);
  script("FAIL", "cuLaunchKernel=701");
  const refused = stream.launch(launch);
  assert.ok(!refused.ok);
  assert.equal(refused.error.code, "too_many_resources");
  assert.match(refused.error.message, /slow_add .* block 32x1x1/);
  script("FAIL", "cuLaunchKernel=702");
  assert.throws(() => stream.launch(launch), isGpuError({ code: 702, sticky: true }));
});

test("letting go of what a lost context held is no second error", { skip }, (context) => {
  const { cuda, stream, buffer } = openSlowAdd(context);
  const sticky = ["cuStreamDestroy_v2", "cuMemFree_v2", "cuCtxDestroy_v2"].map((c) => `${c}=700`);
  script("FAIL", sticky.join(","));
  stream.close();
  buffer.free();
  script("FAIL", "cuMemFreeHost=400");
  const host = value(cuda.allocateHost(8));
  assert.throws(
    () => {
      host.free();
    },
    isGpuError({ code: 400, call: "cuMemFreeHost" }),
  );
  cuda.close();
});
