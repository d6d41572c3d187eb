/** What a probe process does: its jobs one after another, telling of each as it ends. */
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { toFileError } from "../base/mod.ts";
import { reportLibcuda } from "../gpu-cuda/mod.ts";
import type { ProbeJob, ProbeResult } from "./prober.ts";
import { readProbe } from "./recorded-prober.ts";

/** Runs one job on this machine, here and now: call it from a process that may be lost. */
export function runProbeJob(job: ProbeJob): ProbeResult {
  switch (job.kind) {
    case "read":
      return readProbe("/", job.path);
    case "open":
      return openProbe(job.path);
    case "libcuda":
      return libcudaProbe();
    case "slot":
      return { state: "not_asked" };
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
function libcudaProbe(): ProbeResult {
  try {
    return { state: "libcuda", report: reportLibcuda() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { state: "failed", code: "NO_FFI", message: message.split("\n", 1)[0] ?? "" };
  }
}
