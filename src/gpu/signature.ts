import type { Result } from "../base/mod.ts";
import type { GpuKernel } from "./gpu.ts";

/**
 * Reads the entries of a PTX text, in their order, with the layout of their parameters. A driver
 * does not tell these before CUDA 12.4, so a backend is handed a reader. `fileName` is for
 * messages.
 */
export type ReadSignatures = (
  ptx: string,
  fileName: string,
) => Result<readonly GpuKernel[], { readonly message: string }>;
