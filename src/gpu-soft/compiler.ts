/**
 * The seam between a context and the compiler: PTX text in, kernels out. Real contexts use `ptx`;
 * tests of the runtime bring kernels of a few bytes instead.
 */
import type { Result } from "../base/mod.ts";
import type { GpuRefusal } from "../gpu/mod.ts";
import type { CompiledKernel, ModuleData } from "../ptx/mod.ts";

/** A PTX text that was understood. Its kernels are compiled one by one, when asked for. */
export type Program = {
  /** In the order of the text. */
  readonly kernelNames: readonly string[];
  readonly data: ModuleData;
  readonly compile: (kernelName: string) => Result<CompiledKernel, GpuRefusal>;
};

export type Compiler = {
  /** The newest architecture whose PTX is taken, e.g. [9, 0]. */
  readonly computeCapability: readonly [major: number, minor: number];
  readonly load: (ptx: string, fileName: string) => Result<Program, GpuRefusal>;
};
