import { FileError } from "../base/mod.ts";
import { GpuError, type GpuRefusal } from "../gpu/mod.ts";
import type { JobCause } from "./job.ts";

/** A device or a file that was lost, told apart. */
export type HostLoss = { readonly what: "device" | "file"; readonly cause: JobCause };

/**
 * What was lost when `error` was thrown. Anything but a lost device or file is a bug: thrown on.
 */
export function lossOf(error: unknown): HostLoss {
  if (error instanceof GpuError) {
    const { errorName, code, call, message } = error;
    return { what: "device", cause: { name: errorName, code, call, message } };
  }
  if (error instanceof FileError) {
    const { code, call, message } = error;
    return { what: "file", cause: { name: code, code: 0, call, message } };
  }
  throw error;
}

/** A refusal as the cause that is told to whoever asked. */
export const refusalCause = (refusal: GpuRefusal): JobCause => ({
  name: refusal.errorName,
  code: refusal.driverCode,
  call: refusal.call,
  message: refusal.message,
});
