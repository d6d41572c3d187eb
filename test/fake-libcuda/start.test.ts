// Opening the CUDA backend on drivers that are absent, old, or do not start.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCudaGpu } from "../../src/gpu-cuda/mod.ts";
import { readSimpleSignatures } from "../../src/gpu/conformance/mod.ts";
import { type GpuRefusalCode } from "../../src/gpu/mod.ts";
import { CATALOGUE_PTX } from "./catalogue-ptx.ts";
import { clearScript, open, openContext, script, skip, value } from "./fake-session.ts";

afterEach(clearScript);

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
