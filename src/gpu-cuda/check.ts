/** The one place where a CUresult becomes a value, a refusal or a lost context. */
import { err, ok, type Result } from "../base/mod.ts";
import { GpuError, type GpuRefusal, type GpuRefusalCode } from "../gpu/mod.ts";
import { CUDA_SUCCESS, errorNameOf, STICKY_CODES } from "./error-codes.ts";

/** CUresults that refuse a request and harm nothing, and what our callers know them as. */
const REFUSALS: Readonly<Record<number, GpuRefusalCode>> = {
  1: "invalid_value",
  2: "out_of_memory",
  3: "unavailable",
  34: "unavailable",
  36: "unavailable",
  46: "unavailable",
  100: "no_such_device",
  101: "no_such_device",
  102: "unavailable",
  200: "invalid_ptx",
  209: "no_binary_for_gpu",
  218: "invalid_ptx",
  221: "unavailable",
  222: "unsupported_ptx_version",
  223: "unavailable",
  225: "invalid_ptx",
  300: "invalid_ptx",
  500: "kernel_not_found",
  701: "too_many_resources",
  801: "unavailable",
  802: "unavailable",
  803: "unavailable",
  804: "unavailable",
  805: "unavailable",
  806: "unavailable",
  807: "unavailable",
  808: "unavailable",
  809: "unavailable",
  811: "invalid_ptx",
};

/** The error for a call that had to succeed. */
export function lost(call: string, code: number, detail?: string): GpuError {
  const sticky = STICKY_CODES.has(code);
  const fields = { code, errorName: errorNameOf(code), call, sticky };
  return new GpuError(detail === undefined ? fields : { ...fields, detail });
}

/** Throws GpuError, naming the call, unless it succeeded. */
export function check(call: string, code: number): void {
  if (code !== CUDA_SUCCESS) throw lost(call, code);
}

/** A refusal with the driver's number and name; `message` says what was asked and what to do. */
export function refusal(
  call: string,
  driverCode: number,
  message: string,
  code: GpuRefusalCode = REFUSALS[driverCode] ?? "unavailable",
): GpuRefusal {
  const errorName = errorNameOf(driverCode);
  const text = `${message} (${call}: ${errorName} ${driverCode})`;
  return { code, driverCode, errorName, call, message: text };
}

/**
 * The outcome of a call that may refuse. Throws GpuError when the code says that something was
 * lost. `explain` is asked only for a refusal.
 */
export function attempt(
  call: string,
  code: number,
  explain: () => string,
): Result<void, GpuRefusal> {
  if (code === CUDA_SUCCESS) return ok(undefined);
  if (REFUSALS[code] === undefined) throw lost(call, code);
  return err(refusal(call, code, explain()));
}

/**
 * Checks a call that lets something go. What a lost context held is gone already, so that a sticky
 * code is no news here; anything else is.
 */
export function checkRelease(call: string, code: number): void {
  if (code !== CUDA_SUCCESS && !STICKY_CODES.has(code)) throw lost(call, code);
}
