import { err, type Result } from "../base/mod.ts";
import type { GpuRefusal, GpuRefusalCode } from "../gpu/mod.ts";

/**
 * CUDA's number and name (cuda.h, CUresult) for each refusal. PTX that may be right but that we
 * cannot run is 218 too: that is what a driver says of an instruction that it does not know.
 */
const DRIVER_ERRORS: Readonly<Record<GpuRefusalCode, readonly [code: number, name: string]>> = {
  invalid_ptx: [218, "CUDA_ERROR_INVALID_PTX"],
  unsupported_ptx_version: [222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"],
  unsupported_instruction: [218, "CUDA_ERROR_INVALID_PTX"],
  no_binary_for_gpu: [209, "CUDA_ERROR_NO_BINARY_FOR_GPU"],
  kernel_not_found: [500, "CUDA_ERROR_NOT_FOUND"],
  out_of_memory: [2, "CUDA_ERROR_OUT_OF_MEMORY"],
  invalid_value: [1, "CUDA_ERROR_INVALID_VALUE"],
  too_many_resources: [701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"],
  no_such_device: [101, "CUDA_ERROR_INVALID_DEVICE"],
  unavailable: [3, "CUDA_ERROR_NOT_INITIALIZED"],
};

/** A refusal with the numbers and names that CUDA would give; `call` is CUDA's name for it. */
export function refusal(code: GpuRefusalCode, call: string, message: string): GpuRefusal {
  const [driverCode, errorName] = DRIVER_ERRORS[code];
  return { code, driverCode, errorName, call, message };
}

/** The same, as a Result. */
export function refuse(
  code: GpuRefusalCode,
  call: string,
  message: string,
): Result<never, GpuRefusal> {
  return err(refusal(code, call, message));
}
