/** Which status a producer is told for what the owner says of a job. */
import type { JobCause, JobResult } from "../owner/mod.ts";
import type { StatusName } from "../records/mod.ts";

type Failure = Exclude<JobResult, { readonly status: "ok" }>;

/** What the names of a refusal's cause stand for; all others are failures of the device. */
const REFUSALS: Readonly<Record<string, StatusName>> = {
  // No device is there, or not the one that the mailbox names.
  no_device: "no_device",
  no_such_die: "no_device",
  // The module or its entry; what the job's record says of them is all we were told.
  module_not_found: "unknown_kernel",
  module_unreadable: "unknown_kernel",
  module_changed: "unknown_kernel",
  ptx_too_large: "unknown_kernel",
  CUDA_ERROR_INVALID_IMAGE: "unknown_kernel",
  CUDA_ERROR_NO_BINARY_FOR_GPU: "unknown_kernel",
  CUDA_ERROR_INVALID_PTX: "unknown_kernel",
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION: "unknown_kernel",
  CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC: "unknown_kernel",
  CUDA_ERROR_INVALID_SOURCE: "unknown_kernel",
  CUDA_ERROR_NOT_FOUND: "unknown_kernel",
  // Arguments that do not fit the kernel.
  argument_count: "bad_descriptor",
  argument_type: "bad_descriptor",
  argument_size: "bad_descriptor",
  argument_value: "bad_descriptor",
  argument_alias: "bad_descriptor",
  argument_range: "bad_descriptor",
  // A job of ours that no owner should ever get to see.
  check_argument: "internal",
  // More memory than there is.
  CUDA_ERROR_OUT_OF_MEMORY: "too_large",
  payload_too_large: "too_large",
  // A launch that the device does not take: grid, block or shared memory.
  CUDA_ERROR_INVALID_VALUE: "bad_size",
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: "bad_size",
};

/** The status of a job that did not end well. */
export function statusOf(result: Failure): StatusName {
  switch (result.status) {
    case "refused":
      return REFUSALS[result.cause.name] ?? "device_error";
    case "io_error":
      return "io_error";
    case "timeout":
      return "timeout";
    case "device_error":
    case "lost":
      return "device_error";
  }
}

/** True where the owner is going away: the job is nobody's fault, and is run by the next daemon. */
export const isLeaving = (cause: JobCause): boolean => cause.name === "leaving";

/**
 * True where the owner takes no work for now: the job waits until one does. No command does that to
 * a bridge, since `holdfast bridge` stops as a whole: it is for callers of createBridge who drain
 * or park the owner that they give it.
 */
export const isHeldBack = ({ name }: JobCause): boolean => name === "draining" || name === "parked";
