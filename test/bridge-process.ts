/** A real `holdfast bridge` as a child process, over a folder of its own, and a producer for it. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/base/mod.ts";
import { jobRecord } from "../src/cli/trial/job-record.ts";
import { createProducerV2, putWhole, type Producer } from "../src/cli/trial/producer.ts";
import { CUBB2_JOB, type Cbd2Done, type Cubb2Job } from "../src/records/mod.ts";
import { PROGRAM } from "./repl-process.ts";

/** Longest wait for anything that must come, in milliseconds: a loaded machine is slow. */
const WAIT_MS_MAX = 40_000;

type Files = Readonly<Record<"job" | "in" | "out" | "done", string>>;

export class BridgeProcess {
  readonly files: Files;
  readonly child: ChildProcessWithoutNullStreams;
  readonly producer: Producer<Cbd2Done>;
  readonly code: Promise<number | null>;
  #output = "";
  #errors = "";

  /** `folder` is made where it is missing; state is kept in it. */
  constructor(folder: string, flags: readonly string[] = []) {
    mkdirSync(folder, { recursive: true });
    this.files = filesIn(folder);
    const words = [
      ...["bridge", "--backend", "soft", "--dies", "1", "--state-dir", join(folder, "state")],
      ...(flags.includes("--config") ? [] : wordsOf(this.files, flags.includes("--ram"))),
      ...flags,
    ];
    this.child = spawn(process.execPath, [PROGRAM, ...words], { stdio: "pipe" });
    this.child.stdout.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    this.child.stderr.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    this.code = new Promise((resolve) => this.child.once("close", resolve));
    this.producer = producerOver(this.files);
  }

  /** What it printed: job lines. */
  output(): string {
    return this.#output;
  }

  /** Its log. */
  errors(): string {
    return this.#errors;
  }

  /** Until stdout and stderr together match; fails after a while, or once the process is gone. */
  async waitFor(pattern: RegExp): Promise<void> {
    const endMs = performance.now() + WAIT_MS_MAX;
    for (;;) {
      const all = this.#output + this.#errors;
      if (pattern.test(all)) return;
      if (performance.now() > endMs || this.child.exitCode !== null) {
        throw new Error(`no ${String(pattern)} in:\n${all}`);
      }
      await sleep(10);
    }
  }

  /** Posts a job, its input first where it has one. */
  post(job: Cubb2Job, input: Uint8Array | null = null): void {
    if (input !== null) putWhole(this.files.in, input);
    this.producer.post(CUBB2_JOB.encode(job));
  }

  readOut(): Uint8Array {
    return readFileSync(this.files.out);
  }
}

export function filesIn(folder: string): Files {
  const at = (name: string): string => join(folder, name);
  return { job: at("job"), in: at("in"), out: at("out"), done: at("done") };
}

export const producerOver = (files: Files): Producer<Cbd2Done> =>
  createProducerV2({ ...files, clock: systemClock, waitMsMax: WAIT_MS_MAX });

const wordsOf = ({ job, done, ...payload }: Files, isV1: boolean): readonly string[] =>
  Object.entries({ job, done, ...(isV1 ? {} : payload) }).flatMap(([name, path]) => [
    ...[`--${name}`, path],
  ]);

/** slow_add over 1024 elements: how long it runs is up to `iters`. */
export const slowJob = (seq: bigint, iters: number, timeoutMs = 0): Cubb2Job =>
  jobRecord({ seq, op: 4, n: 1024n, inBytes: 4096n, outBytes: 4096n, iters, timeoutMs });
