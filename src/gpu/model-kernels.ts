/** The kernels of the model GPU, in plain JavaScript; its memory is a table of buffers. */
import { invariant } from "../base/mod.ts";
import type { KernelParameter, Launch } from "./gpu.ts";
import { addOnes, referenceProbe, referenceVadd, referenceVaddMutated } from "./reference.ts";

/** Memory by address. */
export type ModelMemory = {
  /** From `address` to the end of its buffer. Throws GpuError where there is none. */
  readonly bytesAt: (address: bigint) => Uint8Array;
};

const parameter = (type: string, offset: number, bytes: number): KernelParameter => ({
  type,
  offset,
  bytes,
});

const pointer = (offset: number): KernelParameter => parameter("u64", offset, 8);

const vadd = [pointer(0), pointer(8), pointer(16), parameter("u32", 24, 4)] as const;

/** The entries of every module, with their parameters. */
export const MODEL_KERNELS: Readonly<Record<string, readonly KernelParameter[]>> = {
  mail: [pointer(0), pointer(8), parameter("u32", 16, 4)],
  vadd,
  vadd_mutated: vadd,
  slow_add: [pointer(0), pointer(8), parameter("u32", 16, 4), parameter("u32", 20, 4)],
  probe: [pointer(0), parameter("u32", 8, 4)],
  /** Copies its struct of 16 bytes to where its pointer points. */
  store_struct: [pointer(0), parameter("b8", 8, 16)],
};

/** Seeds' patterns have a thousand different whole numbers, a million times. */
const TABLED_VALUES = 1024;

const floatsOf = (bytes: Uint8Array, count: number): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, count);

/** Runs a kernel whole; returns the memory from its first argument on, which it has written to. */
export function runModelKernel(launch: Launch, memory: ModelMemory): Uint8Array {
  const { parameters } = launch;
  const view = new DataView(parameters.buffer, parameters.byteOffset, parameters.byteLength);
  const memoryAt = (offset: number): Uint8Array => memory.bytesAt(view.getBigUint64(offset, true));
  const output = memoryAt(0);
  const put = (values: Float32Array | Uint32Array): void =>
    output.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  const { name } = launch.kernel;
  switch (name) {
    case "probe":
      put(referenceProbe(view.getUint32(8, true)));
      return output;
    case "store_struct":
      output.set(new Uint8Array(view.buffer, view.byteOffset + 8, 16));
      return output;
    case "mail":
      output.set(memoryAt(8).subarray(0, 4 * view.getUint32(16, true)));
      return output;
    case "vadd":
    case "vadd_mutated": {
      const count = view.getUint32(24, true);
      const [a, b] = [floatsOf(memoryAt(8), count), floatsOf(memoryAt(16), count)];
      put(name === "vadd" ? referenceVadd(a, b) : referenceVaddMutated(a, b));
      return output;
    }
    case "slow_add": {
      const [count, iters] = [view.getUint32(16, true), view.getUint32(20, true)];
      put(slowAdd(floatsOf(memoryAt(8), count), iters));
      return output;
    }
    default:
      invariant(false, `the model knows a kernel ${name}`);
  }
}

function slowAdd(values: Float32Array, iters: number): Float32Array {
  if (values.length < TABLED_VALUES) return values.map((value) => addOnes(value, iters));
  const sums = Float64Array.from({ length: TABLED_VALUES }, (_, value) => addOnes(value, iters));
  return values.map((value) => sums[value] ?? addOnes(value, iters));
}
