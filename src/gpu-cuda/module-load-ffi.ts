/** Handing PTX to the driver's compiler, with a place for its complaints. */
import { addressOf } from "../base/mod.ts";
import { JIT_OPTION } from "./abi.ts";
import type { Libcuda } from "./libcuda-ffi.ts";
import { out, outLong, textOf } from "./out-values.ts";

/** The compiler stops writing when the log is full; the first errors are the ones that matter. */
const LOG_BYTES = 16 * 1024;

export type LoadOutcome = {
  readonly code: number;
  /** The module, where code is 0. */
  readonly module: bigint;
  /** The compiler's error log, without a line end; often empty. */
  readonly log: string;
};

/** Compiles PTX for the current context's device. The text must not hold a NUL. */
export function loadPtx(libcuda: Libcuda, ptx: string): LoadOutcome {
  // The driver finds the end of the text by its NUL.
  const image = new TextEncoder().encode(`${ptx}\0`);
  const log = new Uint8Array(new ArrayBuffer(LOG_BYTES));
  const options = Int32Array.of(JIT_OPTION.errorLogBuffer, JIT_OPTION.errorLogBufferSizeBytes);
  // Each value is a void *; a size is the number itself, and the driver writes back what it used.
  const values = new BigUint64Array(new ArrayBuffer(16));
  values.set([addressOf(log), BigInt(LOG_BYTES)]);
  const code = libcuda.cuModuleLoadDataEx(out.long, image, options.length, options, values);
  return { code, module: outLong(), log: textOf(log).trim() };
}
