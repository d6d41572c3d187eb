/** Runs probe jobs in child processes, and leaves one behind that does not come back. */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { ProbeJob, Prober, ProbeResult } from "./prober.ts";

export type ProcessProberOptions = {
  /** What starts a probe process; it reads its jobs, a line of JSON, from stdin. */
  readonly command: readonly [string, ...string[]];
  /** How long one job may take; a driver that loads its firmware takes seconds. */
  readonly timeoutMs: number;
};

/** What a probe process writes, a line each: the job's number, and what it came to. */
export type ProbeLine = { readonly job: number; readonly result: ProbeResult };

/** Jobs of one call run one after another, those of several calls side by side. */
export function createProcessProber(options: ProcessProberOptions): Prober {
  return async (jobs) => {
    const results: ProbeResult[] = [];
    // After a job that hung or took its process with it, another process goes on with the next.
    while (results.length < jobs.length) {
      results.push(...(await runSome(options, jobs.slice(results.length))));
    }
    return results;
  };
}

/** Results of the first jobs, at least one. */
function runSome(
  { command, timeoutMs }: ProcessProberOptions,
  jobs: readonly ProbeJob[],
): Promise<readonly ProbeResult[]> {
  const [program, ...words] = command;
  const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] });
  const results: ProbeResult[] = [];
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout;
    const end = (last: ProbeResult | null): void => {
      clearTimeout(timer);
      leave(child);
      resolve(last === null ? results : [...results, last]);
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end({ state: "hung", afterMs: timeoutMs }), timeoutMs);
    };
    child.on("error", (error) => end(died(error.message)));
    child.on("close", (code, signal) => end(died(`ended by ${signal ?? `code ${String(code)}`}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const result = resultOf(line);
      if (result === null) return;
      results.push(result);
      if (results.length === jobs.length) end(null);
      else wait();
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(`${JSON.stringify(jobs)}\n`);
    wait();
  });
}

const died = (how: string): ProbeResult => ({
  state: "failed",
  code: "CRASHED",
  message: `the process that asked ${how}`,
});

/** A library may print to stdout what it likes; such a line is none of ours. */
function resultOf(line: string): ProbeResult | null {
  try {
    const { result } = JSON.parse(line) as Partial<ProbeLine>;
    return result ?? null;
  } catch {
    return null;
  }
}

/** It may be stuck in the kernel, where even SIGKILL waits; so nobody waits for it. */
function leave(child: ChildProcess): void {
  child.removeAllListeners();
  child.on("error", () => undefined);
  child.stdout?.destroy();
  child.kill("SIGKILL");
  child.unref();
}
