// What the CUDA backend does with a driver that fails: scripted through the fake's environment.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test, type TestContext } from "node:test";
import type { Result } from "../../src/base/mod.ts";
import { openCudaGpu } from "../../src/gpu-cuda/mod.ts";
import {
  GpuError,
  packParameters,
  waitUntilIdle,
  waitUntilReached,
  type Gpu,
  type GpuContext,
  type GpuRefusal,
  type GpuRefusalCode,
  type ReadSignatures,
} from "../../src/gpu/mod.ts";
import { readSimpleSignatures } from "../../src/gpu/conformance/mod.ts";
import { CATALOGUE_PTX } from "./catalogue-ptx.ts";
import { fakeLibcuda, fakeSkipReason, type FakeVariant } from "./fake-libcuda.ts";

const skip = fakeSkipReason ?? false;

type Setting = "DEVICES" | "MEMORY_BYTES" | "VERSION" | "FAIL" | "BUSY" | "TRACE";

/** Sets one of the fake's variables; it is taken back after the test. */
function script(setting: Setting, value: string): void {
  process.env[`HOLDFAST_FAKE_${setting}`] = value;
}

afterEach(() => {
  for (const name of Object.keys(process.env)) {
    // The driver reads the environment itself, so the variable must really go.
    if (name.startsWith("HOLDFAST_FAKE_")) Reflect.deleteProperty(process.env, name);
  }
});

type OpenOptions = { readonly variant?: FakeVariant; readonly readSignatures?: ReadSignatures };

function open({ variant, readSignatures = readSimpleSignatures }: OpenOptions = {}): Result<
  Gpu,
  GpuRefusal
> {
  return openCudaGpu({ libraryPath: fakeLibcuda(variant), readSignatures });
}

function value<T>(result: Result<T, { readonly message: string }>): T {
  assert.ok(result.ok, result.ok ? "" : result.error.message);
  return result.value;
}

/** A context on a fresh fake driver, closed after the test. */
function openContext(context: TestContext, options: OpenOptions = {}): GpuContext {
  const opened = value(value(open(options)).openContext(0));
  context.after(() => {
    opened.close();
  });
  return opened;
}

const isGpuError = (fields: Partial<GpuError>) => (error: unknown) => {
  assert.ok(error instanceof GpuError);
  for (const [name, expected] of Object.entries(fields)) {
    assert.equal(error[name as keyof GpuError], expected, name);
  }
  return true;
};

const startFailures: readonly (readonly [
  fail: string,
  code: GpuRefusalCode,
  driverCode: number,
  message: RegExp,
])[] = [
  ["cuInit=100", "no_such_device", 100, /CUDA_VISIBLE_DEVICES.*cuInit: CUDA_ERROR_NO_DEVICE 100/],
  ["cuInit=34", "unavailable", 34, /stub.*LD_LIBRARY_PATH/],
  ["cuInit=803", "unavailable", 803, /different versions.*CUDA_ERROR_SYSTEM_DRIVER_MISMATCH/],
  ["cuInit=802", "unavailable", 802, /fabricmanager/],
  ["cuInit=999", "unavailable", 999, /nvidia_uvm.*dmesg.*CUDA_ERROR_UNKNOWN 999/],
  ["cuInit=304", "unavailable", 304, /\/dev\/nvidia/],
  ["cuInit=700", "unavailable", 700, /nvidia-smi/],
  ["cuDeviceGetCount=3", "unavailable", 3, /cuDeviceGetCount: CUDA_ERROR_NOT_INITIALIZED/],
];

for (const [fail, code, driverCode, message] of startFailures) {
  test(`${fail} refuses the backend and names the mend`, { skip }, () => {
    script("FAIL", fail);
    const gpu = open();
    assert.ok(!gpu.ok);
    assert.equal(gpu.error.code, code);
    assert.equal(gpu.error.driverCode, driverCode);
    assert.match(gpu.error.message, message);
  });
}

test("a driver without devices is refused as one", { skip }, () => {
  script("DEVICES", "0");
  const gpu = open();
  assert.ok(!gpu.ok);
  assert.equal(gpu.error.code, "no_such_device");
});

test("a sound driver is opened, so the refusals above are the script's", { skip }, () => {
  const gpu = value(open());
  assert.equal(gpu.deviceCount, 2);
  assert.deepEqual(value(gpu.deviceInfo(1)), {
    backend: "cuda",
    ordinal: 1,
    name: "Fake GPU 1",
    memoryBytes: 256 * 2 ** 20,
    multiprocessors: 4,
    computeCapability: [9, 0],
    pciAddress: "0000:1b:01.0",
    driver: "CUDA 13.0",
    sharedBytesPerBlockMax: 227 * 1024,
    threadsPerBlockMax: 1024,
  });
});

test("the driver's version is told as CUDA's", { skip }, () => {
  script("VERSION", "11040");
  assert.equal(value(value(open()).deviceInfo(0)).driver, "CUDA 11.4");
});

test("a library that is not there is refused with the loader's words and the mend", () => {
  const libraryPath = join(tmpdir(), "holdfast-no-libcuda.so.1");
  const gpu = openCudaGpu({ libraryPath, readSignatures: readSimpleSignatures });
  assert.ok(!gpu.ok);
  assert.equal(gpu.error.code, "unavailable");
  assert.equal(gpu.error.call, "dlopen");
  assert.match(gpu.error.message, /holdfast-no-libcuda\.so\.1: cannot open.*--backend soft/);
});

test("a driver that lacks a symbol is refused by the symbol's name", { skip }, () => {
  const gpu = open({ variant: "WITHOUT_STREAM_QUERY" });
  assert.ok(!gpu.ok);
  assert.equal(gpu.error.code, "unavailable");
  assert.equal(gpu.error.call, "dlsym");
  assert.match(gpu.error.message, /cuStreamQuery.*R470/);
});

test("a driver without the newer symbols loads modules all the same", { skip }, (context) => {
  const cuda = openContext(context, { variant: "WITHOUT_PARAM_INFO" });
  value(value(cuda.loadModule(CATALOGUE_PTX, "base.ptx")).kernel("vadd"));
});

test("a signature that the driver contradicts is a bug, not a launch", { skip }, (context) => {
  const readSignatures: ReadSignatures = () => ({
    ok: true,
    value: [
      { name: "probe", parameters: [{ type: "u64", offset: 0, bytes: 8 }], parameterBytes: 8 },
      {
        name: "mail",
        parameters: [
          { type: "u64", offset: 0, bytes: 8 },
          { type: "u32", offset: 8, bytes: 4 },
          { type: "u64", offset: 16, bytes: 8 },
        ],
        parameterBytes: 24,
      },
    ],
  });
  const module = value(openContext(context, { readSignatures }).loadModule(CATALOGUE_PTX, "b.ptx"));
  assert.throws(() => module.kernel("mail"), /parameter 1 of mail is 4 bytes at 8/);
  assert.throws(() => module.kernel("probe"), /probe has 1 parameters in the text, more/);
});

test("PTX that the driver takes and the reader does not is refused", { skip }, (context) => {
  const readSignatures: ReadSignatures = (_, fileName) => ({
    ok: false,
    error: { message: `${fileName}:1:1: no` },
  });
  const refused = openContext(context, { readSignatures }).loadModule(CATALOGUE_PTX, "base.ptx");
  assert.ok(!refused.ok);
  assert.equal(refused.error.code, "invalid_ptx");
  assert.match(refused.error.message, /base\.ptx:1:1: no/);
});

const loadFailures: readonly (readonly [number, GpuRefusalCode, RegExp])[] = [
  [2, "out_of_memory", /memory/],
  [209, "no_binary_for_gpu", /\.target sm_30/],
  [218, "invalid_ptx", /base\.ptx is no PTX/],
  [221, "unavailable", /libnvidia-ptxjitcompiler/],
  [222, "unsupported_ptx_version", /PTX ISA 4\.2, newer/],
];

for (const [driverCode, code, message] of loadFailures) {
  test(`error ${driverCode} of a module load is ${code}`, { skip }, (context) => {
    const cuda = openContext(context);
    script("FAIL", `cuModuleLoadDataEx=${driverCode}`);
    const refused = cuda.loadModule(CATALOGUE_PTX, "base.ptx");
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, code);
    assert.equal(refused.error.driverCode, driverCode);
    assert.match(refused.error.message, message);
  });
}

test("the compiler's own log is in the message", { skip }, (context) => {
  const refused = openContext(context).loadModule("{ frobnicate", "odd.ptx");
  assert.ok(!refused.ok);
  assert.match(refused.error.message, /odd\.ptx[^]*fake ptxas: no \.version directive/);
});

test("a context that cannot be made is refused with the mend", { skip }, () => {
  const gpu = value(open());
  script("FAIL", "cuCtxCreate_v2=46");
  const busy = gpu.openContext(1);
  assert.ok(!busy.ok);
  assert.equal(busy.error.code, "unavailable");
  assert.match(busy.error.message, /device 1 \(Fake GPU 1\).*compute mode/);
  script("FAIL", "cuCtxCreate_v2=2");
  const full = gpu.openContext(0);
  assert.ok(!full.ok && full.error.code === "out_of_memory");
});

test("out of memory at the device's size says how much is free", { skip }, (context) => {
  script("MEMORY_BYTES", "1000000");
  const cuda = openContext(context);
  const held = value(cuda.allocate(600_000));
  const refused = cuda.allocate(600_000);
  assert.ok(!refused.ok);
  assert.equal(refused.error.code, "out_of_memory");
  assert.match(refused.error.message, /600000 bytes .* 400000 of 1000000 are free/);
  held.free();
  value(cuda.allocate(600_000)).free();
});

test(
  "host memory beyond a view's size is refused before the driver is asked",
  { skip },
  (context) => {
    const refused = openContext(context).allocateHost(2 ** 30 + 1);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "invalid_value");
    assert.match(refused.error.message, /1073741825 bytes: ask for 1 to 1073741824/);
  },
);

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

/** A context with a `slow_add` of four elements, ready to be launched. */
function openSlowAdd(context: TestContext) {
  const cuda = openContext(context);
  const kernel = value(value(cuda.loadModule(CATALOGUE_PTX, "base.ptx")).kernel("slow_add"));
  const buffer = value(cuda.allocate(16));
  const stream = cuda.createStream();
  const count = { type: "u32", value: 4 } as const;
  const parameters = value(packParameters(kernel, [{ buffer }, { buffer }, count, count]));
  const launch = {
    kernel,
    grid: [1, 1, 1],
    block: [32, 1, 1],
    sharedBytes: 0,
    parameters,
  } as const;
  return { cuda, stream, launch, buffer };
}

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

test("what was let go of, or is another's, is used no more", { skip }, (context) => {
  const { cuda, stream, launch, buffer } = openSlowAdd(context);
  const other = openSlowAdd(context);
  const range = { buffer, offset: 0, bytes: 16 };
  const host = value(cuda.allocateHost(16));
  assert.throws(() => {
    other.stream.fill(range, 0);
  }, /of this context/);
  assert.throws(() => other.stream.launch(launch), /module of this context/);
  assert.throws(() => {
    stream.copyIn({ ...range, bytes: 17 }, host, 0);
  }, /17 bytes at 0/);
  assert.throws(() => {
    stream.copyIn({ ...range, offset: -1 }, host, 0);
  }, /16 bytes at -1/);
  assert.throws(() => {
    stream.copyIn(range, host, 1);
  }, /16 bytes at 1 lie in a host buffer/);
  assert.throws(() => {
    stream.fill(range, 256);
  }, /fill value is a byte/);
  host.free();
  assert.throws(() => {
    host.free();
  }, /released once/);
  assert.throws(() => {
    stream.copyIn(range, host, 0);
  }, /freed host buffer/);
  buffer.free();
  assert.throws(() => {
    stream.fill(range, 0);
  }, /alive/);
  cuda.close();
  assert.throws(() => {
    stream.isIdle();
  }, /closed context/);
  cuda.close();
});

test("a parameter block of another size is a bug, not a launch", { skip }, (context) => {
  const { stream, launch } = openSlowAdd(context);
  const parameters = launch.parameters.slice(1);
  assert.throws(() => stream.launch({ ...launch, parameters }), /24 bytes, not 23/);
});

/** The driver's calls while `act` runs. */
function traced(act: () => void): string[] {
  const path = join(tmpdir(), `holdfast-trace-${process.pid}`);
  script("TRACE", path);
  act();
  script("TRACE", "");
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  rmSync(path, { force: true });
  return lines;
}

test("a context is made current only when another was", { skip }, (context) => {
  const gpu = value(open());
  const [one, two] = [value(gpu.openContext(0)), value(gpu.openContext(0))];
  context.after(() => {
    one.close();
  });
  assert.deepEqual(
    traced(() => {
      two.memory();
      two.memory();
    }),
    ["cuMemGetInfo_v2", "cuMemGetInfo_v2"],
  );
  assert.deepEqual(
    traced(() => {
      one.memory();
      one.memory();
      two.memory();
    }),
    ["cuCtxSetCurrent", "cuMemGetInfo_v2", "cuMemGetInfo_v2", "cuCtxSetCurrent", "cuMemGetInfo_v2"],
  );
  two.close();
  assert.deepEqual(
    traced(() => one.memory()),
    ["cuCtxSetCurrent", "cuMemGetInfo_v2"],
  );
});

test("two backends opened on one library share what is current", { skip }, () => {
  const libraryPath = fakeLibcuda();
  const openOne = () =>
    value(value(openCudaGpu({ libraryPath, readSignatures: readSimpleSignatures })).openContext(0));
  const [one, two] = [openOne(), openOne()];
  const [a, b] = [value(one.allocate(64)), value(two.allocate(64))];
  // The fake refuses to free memory of a context that is not current.
  a.free();
  b.free();
  one.close();
  two.close();
});
