/** For tests of the runtime: a software GPU with hand-made kernels, and what each test needs of it. */
import type { Result } from "../base/mod.ts";
import {
  waitUntilIdle,
  type DeviceBuffer,
  type Dim3,
  type Gpu,
  type GpuContext,
  type GpuKernel,
  type GpuRefusal,
  type Launch,
} from "../gpu/mod.ts";
import { handMadeCompiler, HAND_MADE_PARAMETER_BYTES } from "./hand-made-kernels.ts";
import { softGpu } from "./soft-gpu.ts";

export const MIB = 1024 * 1024;

/** The value, where there must be one. */
export function unwrap<T>(result: Result<T, GpuRefusal>): T {
  if (result.ok) return result.value;
  throw new Error(`${result.error.errorName}: ${result.error.message}`);
}

export const openGpu = (workers = 2, devices = 1): Gpu =>
  softGpu({ devices, workers, memoryBytes: 64 * MIB }, handMadeCompiler);

/** A kernel of a module of its own. */
export const handMade = (context: GpuContext, name: string): GpuKernel =>
  unwrap(unwrap(context.loadModule("", "hand-made.ptx")).kernel(name));

type Values = {
  readonly address?: bigint;
  readonly value?: number;
  readonly grid?: Dim3;
  readonly block?: Dim3;
};

/** A launch of a hand-made kernel: by default of one block of 64 threads. */
export function launchOf(kernel: GpuKernel, values: Values = {}): Launch {
  const { address = 0n, value = 0, grid = [1, 1, 1], block = [64, 1, 1] } = values;
  const parameters = new DataView(new ArrayBuffer(HAND_MADE_PARAMETER_BYTES));
  parameters.setBigUint64(0, address, true);
  parameters.setUint32(8, value, true);
  return { kernel, grid, block, sharedBytes: 0, parameters: new Uint8Array(parameters.buffer) };
}

/** A test's body with a context, which is closed whatever happens. */
export function withContext(
  body: (context: GpuContext) => Promise<void> | void,
  workers?: number,
): () => Promise<void> {
  return async () => {
    const context = unwrap(openGpu(workers).openContext(0));
    try {
      await body(context);
    } finally {
      context.close();
    }
  };
}

/** The words of a whole device buffer. */
export async function readWords(context: GpuContext, buffer: DeviceBuffer): Promise<Uint32Array> {
  const stream = context.createStream();
  const host = unwrap(context.allocateHost(buffer.bytes));
  stream.copyOut(host, 0, { buffer, offset: 0, bytes: buffer.bytes });
  await waitUntilIdle(stream);
  stream.close();
  return new Uint32Array(host.bytes.slice().buffer);
}
