/** What the tests over the fake driver share: its script, and contexts on fresh copies of it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Result } from "../../src/base/mod.ts";
import { openCudaGpu } from "../../src/gpu-cuda/mod.ts";
import {
  GpuError,
  packParameters,
  type DeviceBuffer,
  type Gpu,
  type GpuContext,
  type GpuRefusal,
  type Launch,
  type ReadSignatures,
  type Stream,
} from "../../src/gpu/mod.ts";
import { readSimpleSignatures } from "../../src/gpu/conformance/mod.ts";
import { CATALOGUE_PTX } from "./catalogue-ptx.ts";
import { fakeLibcuda, fakeSkipReason, type FakeVariant } from "./fake-libcuda.ts";

/** For node:test: false, or why the fake cannot be built here. */
export const skip = fakeSkipReason ?? false;

export type Setting = "DEVICES" | "MEMORY_BYTES" | "VERSION" | "FAIL" | "BUSY" | "TRACE";

/** Sets one of the fake's variables; it is taken back after the test. */
export function script(setting: Setting, value: string): void {
  process.env[`HOLDFAST_FAKE_${setting}`] = value;
}

/** Takes everything back that `script` set. */
export function clearScript(): void {
  for (const name of Object.keys(process.env)) {
    // The driver reads the environment itself, so the variable must really go.
    if (name.startsWith("HOLDFAST_FAKE_")) Reflect.deleteProperty(process.env, name);
  }
}

export type OpenOptions = {
  readonly variant?: FakeVariant;
  readonly readSignatures?: ReadSignatures;
};

export function open({ variant, readSignatures = readSimpleSignatures }: OpenOptions = {}): Result<
  Gpu,
  GpuRefusal
> {
  return openCudaGpu({ libraryPath: fakeLibcuda(variant), readSignatures });
}

export function value<T>(result: Result<T, { readonly message: string }>): T {
  assert.ok(result.ok, result.ok ? "" : result.error.message);
  return result.value;
}

/** A context on a fresh fake driver, closed after the test. */
export function openContext(context: TestContext, options: OpenOptions = {}): GpuContext {
  const opened = value(value(open(options)).openContext(0));
  context.after(() => {
    opened.close();
  });
  return opened;
}

/** A check for assert.throws: a GpuError with these fields. */
export const isGpuError =
  (fields: Partial<GpuError>): ((error: unknown) => true) =>
  (error) => {
    assert.ok(error instanceof GpuError);
    for (const [name, expected] of Object.entries(fields)) {
      assert.equal(error[name as keyof GpuError], expected, name);
    }
    return true;
  };

/** A context, and a launch of four elements in it. */
export type SlowAdd = {
  readonly cuda: GpuContext;
  readonly stream: Stream;
  readonly launch: Launch;
  readonly buffer: DeviceBuffer;
};

/** A context with a `slow_add` of four elements, ready to be launched. */
export function openSlowAdd(context: TestContext): SlowAdd {
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

/** The driver's calls while `act` runs. */
export function traced(act: () => void): string[] {
  const path = join(tmpdir(), `holdfast-trace-${process.pid}`);
  script("TRACE", path);
  act();
  script("TRACE", "");
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  rmSync(path, { force: true });
  return lines;
}
