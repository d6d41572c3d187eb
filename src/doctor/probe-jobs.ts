/** What a probe process does: its jobs one after another, telling of each as it ends. */
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { FileError, toFileError } from "../base/mod.ts";
import { BAR_SWAP_PATH, BAR_SWAP_VERSION, openBarSwap } from "../board/mod.ts";
import { reportLibcuda, reportLibcudaFile, type LibcudaReport } from "../gpu-cuda/mod.ts";
import type { ProbeJob, ProbeResult } from "./prober.ts";
import { readProbe } from "./recorded-prober.ts";

/** Runs one job on this machine, here and now: call it from a process that may be lost. */
export function runProbeJob(job: ProbeJob): ProbeResult {
  switch (job.kind) {
    case "read":
      return readProbe("/", job);
    case "open":
      return openProbe(job.path);
    case "libcuda":
      return libcudaProbe(reportLibcuda);
    case "library":
      return libcudaProbe(reportLibcudaFile);
    case "slot":
      return slotProbe();
  }
}

/** More dies than any board has. */
const DIES_MAX = 32;

/** Asks and changes nothing. The descriptor is closed with the process, which releases nothing. */
function slotProbe(): ProbeResult {
  try {
    const device = openBarSwap(BAR_SWAP_PATH);
    const { version, dieCount, occupant, holderPid } = device.query();
    if (version !== BAR_SWAP_VERSION) {
      const message = `it speaks version ${version} of its calls, we ${BAR_SWAP_VERSION}`;
      return { state: "failed", code: "VERSION", message };
    }
    const count = Math.min(dieCount, DIES_MAX);
    const addresses = Array.from({ length: count }, (_, die) => device.die(die).address);
    return { state: "slot", answer: { dieCount, occupant, holderPid, addresses } };
  } catch (error) {
    if (!(error instanceof FileError)) return ffiFailure(error);
    return { state: "failed", code: error.code, message: error.message };
  }
}

function openProbe(path: string): ProbeResult {
  try {
    closeSync(openSync(join("/", path), constants.O_RDWR | constants.O_NONBLOCK));
    return { state: "opened" };
  } catch (error) {
    const { code, message } = toFileError("open", `/${path}`, error);
    return { state: "failed", code, message };
  }
}

/** Without the FFI package's native part nothing can be asked, and no GPU can be used. */
function libcudaProbe(report: () => LibcudaReport): ProbeResult {
  try {
    return { state: "libcuda", report: report() };
  } catch (error) {
    return ffiFailure(error);
  }
}

function ffiFailure(error: unknown): ProbeResult {
  const message = error instanceof Error ? error.message : String(error);
  return { state: "failed", code: "NO_FFI", message: message.split("\n", 1)[0] ?? "" };
}
