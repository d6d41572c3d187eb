/**
 * A lost context or device: what the driver said, in its own words, and the call that said it.
 * After one of these the context is of no use; where `sticky` is true, neither is the whole process
 * (measured: after CUDA error 700 every later call in that process fails with 700).
 *
 * A request that was merely refused (bad PTX, too much memory) is no GpuError but a GpuRefusal.
 */
export class GpuError extends Error {
  override readonly name = "GpuError";
  /** The driver's number, as in cuda.h's CUresult. */
  readonly code: number;
  /** The driver's own name, e.g. `CUDA_ERROR_ILLEGAL_ADDRESS`. */
  readonly errorName: string;
  /** The call that failed, e.g. `cuCtxSynchronize`. */
  readonly call: string;
  /** True where no later call in this process can succeed. */
  readonly sticky: boolean;

  constructor(fields: {
    readonly code: number;
    readonly errorName: string;
    readonly call: string;
    readonly sticky: boolean;
    readonly detail?: string;
    readonly cause?: unknown;
  }) {
    const detail = fields.detail === undefined ? "" : `: ${fields.detail}`;
    super(`${fields.call} failed: ${fields.errorName} (${String(fields.code)})${detail}`, {
      cause: fields.cause,
    });
    this.code = fields.code;
    this.errorName = fields.errorName;
    this.call = fields.call;
    this.sticky = fields.sticky;
  }
}

/** Why a request was refused. The context is as good as before. */
export type GpuRefusalCode =
  | "invalid_ptx"
  | "unsupported_ptx_version"
  | "unsupported_instruction"
  | "no_binary_for_gpu"
  | "kernel_not_found"
  | "out_of_memory"
  | "invalid_value"
  | "too_many_resources"
  | "no_such_device"
  | "unavailable";

/** A refused request, with the driver's number and name, and a message that names the mend. */
export type GpuRefusal = {
  readonly code: GpuRefusalCode;
  /** The driver's number (CUresult), which the software GPU gives as well. */
  readonly driverCode: number;
  /** The driver's own name, e.g. `CUDA_ERROR_INVALID_PTX`. */
  readonly errorName: string;
  /** The call that refused, e.g. `cuModuleLoadDataEx`. */
  readonly call: string;
  /** What is wrong and what to do; for PTX it holds file, line, column and the instruction. */
  readonly message: string;
};
