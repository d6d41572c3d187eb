import type { Gpu } from "../gpu/mod.ts";
import { ptxCompiler } from "./ptx-compiler.ts";
import { softGpu, type SoftGpuOptions } from "./soft-gpu.ts";

/**
 * Opens the software GPU, which is always there. Options out of range are a bug of the caller.
 *
 * @example
 * const gpu = openSoftGpu({ devices: 2 });
 * const context = gpu.openContext(0);
 */
export function openSoftGpu(options: SoftGpuOptions): Gpu {
  return softGpu(options, ptxCompiler);
}
