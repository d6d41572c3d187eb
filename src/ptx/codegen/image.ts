/**
 * What the compiler makes of a kernel, and how much scratch memory a worker needs to run it. All of
 * it is plain data, so that it can be posted to a worker.
 */
import { FAULT_BYTES, THREADS_PER_BLOCK_MAX } from "../abi.ts";
import type { Parameter } from "../ir/types.ts";

/** A kernel as WebAssembly, with what its launch has to know. */
export type CompiledKernel = {
  readonly name: string;
  /** The module's bytes; link them with `kernelImports` and call its export `run` (see abi.ts). */
  readonly wasm: Uint8Array;
  readonly parameters: readonly Parameter[];
  readonly parameterBytes: number;
  /** Static shared memory of one block; a launch adds the dynamic part from this offset on. */
  readonly sharedBytes: number;
  /** Local memory of one thread, a multiple of 16. */
  readonly localBytes: number;
  /** The most threads a block may have: `.maxntid` or `.reqntid`, else CUDA's own limit. */
  readonly threadsMax: number;
  /** Registers that live across barriers, for `THREADS_PER_BLOCK_MAX` threads. */
  readonly contextBytes: number;
  /** Names of the `holdfast` imports beside `memory`, for messages and tests. */
  readonly imports: readonly string[];
};

/** Where the parts of one worker's scratch area lie, as byte offsets from its start. */
export type ScratchLayout = {
  readonly contextOffset: number;
  readonly sharedOffset: number;
  readonly localOffset: number;
  /** Of the whole area. */
  readonly bytes: number;
};

/** Every part of a scratch area begins at a multiple of this, one cache line. */
export const SCRATCH_ALIGNMENT_BYTES = 64;

const aligned = (offset: number): number =>
  Math.ceil(offset / SCRATCH_ALIGNMENT_BYTES) * SCRATCH_ALIGNMENT_BYTES;

/** The context follows the fault record; its inside is known to the compiled code alone. */
export const CONTEXT_OFFSET = FAULT_BYTES;

/**
 * Lays out a scratch area: fault record, context, shared memory, local memory of each thread.
 * `threads` is of one block, 1 to `THREADS_PER_BLOCK_MAX`; `sharedBytes` is static plus dynamic.
 * A launch descriptor's `sharedOffset` and `localOffset` are those returned here.
 */
export function scratchLayout(
  kernel: Pick<CompiledKernel, "contextBytes" | "localBytes">,
  threads: number,
  sharedBytes: number,
): ScratchLayout {
  if (threads > THREADS_PER_BLOCK_MAX) {
    throw new RangeError(`${threads} threads in a block; the most is ${THREADS_PER_BLOCK_MAX}`);
  }
  const sharedOffset = aligned(CONTEXT_OFFSET + kernel.contextBytes);
  const localOffset = aligned(sharedOffset + sharedBytes);
  const bytes = aligned(localOffset + kernel.localBytes * threads);
  return { contextOffset: CONTEXT_OFFSET, sharedOffset, localOffset, bytes };
}
