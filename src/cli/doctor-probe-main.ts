/**
 * The doctor's probe process: reads a line of JSON with jobs from stdin and writes a line for each
 * as it is done. It may hang or crash, which is why it is a process of its own.
 */
import { readFileSync } from "node:fs";
import { runProbeJob, type ProbeJob, type ProbeLine } from "../doctor/mod.ts";

const jobs = JSON.parse(readFileSync(0, "utf8")) as readonly ProbeJob[];
jobs.forEach((job, at) => {
  const line: ProbeLine = { job: at, result: runProbeJob(job) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
});
