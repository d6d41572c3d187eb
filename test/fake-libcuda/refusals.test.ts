// What the driver refuses and what becomes of it: modules, contexts, memory.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type GpuRefusalCode, type ReadSignatures } from "../../src/gpu/mod.ts";
import { CATALOGUE_PTX } from "./catalogue-ptx.ts";
import { clearScript, isGpuError, open, openContext, script, skip, value } from "./fake-session.ts";

afterEach(clearScript);

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

const lockFailures: readonly (readonly [driverCode: number, name: string])[] = [
  [1, "CUDA_ERROR_INVALID_VALUE"],
  [2, "CUDA_ERROR_OUT_OF_MEMORY"],
  [712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"],
  [800, "CUDA_ERROR_NOT_PERMITTED"],
  [801, "CUDA_ERROR_NOT_SUPPORTED"],
];

for (const [driverCode, name] of lockFailures) {
  test(`${name} of memory to be adopted is a refusal`, { skip }, (context) => {
    const cuda = openContext(context);
    script("FAIL", `cuMemHostRegister_v2=${driverCode}`);
    const refused = cuda.adoptHost(new Uint8Array(100_000));
    assert.ok(!refused.ok);
    assert.deepEqual([refused.error.driverCode, refused.error.errorName], [driverCode, name]);
    assert.match(refused.error.message, /100000 bytes cannot be page-locked; .*ulimit/);
  });
}

test("a context that is lost while it adopts memory throws", { skip }, (context) => {
  const cuda = openContext(context);
  script("FAIL", "cuMemHostRegister_v2=719");
  const lost = isGpuError({ code: 719, call: "cuMemHostRegister_v2", sticky: true });
  assert.throws(() => cuda.adoptHost(new Uint8Array(100_000)), lost);
});

test("memory is adopted once at a time, and used no more once it is freed", { skip }, (context) => {
  const cuda = openContext(context);
  const memory = new Uint8Array(100_000);
  const adopted = value(cuda.adoptHost(memory));
  const again = cuda.adoptHost(memory.subarray(5000, 6000));
  assert.ok(!again.ok);
  assert.equal(again.error.driverCode, 712);
  adopted.free();
  assert.throws(() => adopted.free(), /released once/);
  const range = { buffer: value(cuda.allocate(16)), offset: 0, bytes: 16 };
  assert.throws(() => cuda.createStream().copyIn(range, adopted, 0), /freed host buffer/);
  value(cuda.adoptHost(memory.subarray(5000, 6000))).free();
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
