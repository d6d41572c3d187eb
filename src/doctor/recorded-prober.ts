/** Answers probe jobs from a recorded tree: its files, and what `probe.json` in it says. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { toFileError } from "../base/mod.ts";
import { probeKey, type ProbeJob, type ProbeResult } from "./prober.ts";
import type { Prober } from "./prober.ts";

/** Results by probeKey, e.g. `{"libcuda": {"state": "hung", "afterMs": 10000}}`. */
export const RECORDED_PROBES = "probe.json";

/** A tree without `probe.json`, or with one that cannot be read, has answers to `read` alone. */
export function createRecordedProber(root: string): Prober {
  const recorded = readRecorded(root);
  return (jobs) =>
    Promise.resolve(jobs.map((job) => recorded.get(probeKey(job)) ?? readFromTree(root, job)));
}

function readRecorded(root: string): ReadonlyMap<string, ProbeResult> {
  try {
    const found: unknown = JSON.parse(readFileSync(join(root, RECORDED_PROBES), "utf8"));
    const entries = Object.entries(found as Record<string, ProbeResult>);
    return new Map(entries.filter(([, result]) => typeof (result as unknown) === "object"));
  } catch {
    return new Map();
  }
}

function readFromTree(root: string, job: ProbeJob): ProbeResult {
  if (job.kind !== "read") return { state: "not_asked" };
  return readProbe(root, job);
}

type ReadJob = Extract<ProbeJob, { readonly kind: "read" }>;

/**
 * The first bytes of a file, as a result, by one read(2): of configuration space the kernel reads
 * from the device as much as it is asked for, and beyond the header some registers do something.
 */
export function readProbe(root: string, { path, bytesMax }: ReadJob): ProbeResult {
  try {
    const file = openSync(join(root, path), "r");
    try {
      const bytes = Buffer.alloc(bytesMax);
      const length = readSync(file, bytes, 0, bytesMax, null);
      return { state: "bytes", hex: bytes.toString("hex", 0, length) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code, message } = toFileError("read", path, error);
    return { state: "failed", code, message };
  }
}
