/**
 * For tests of the bridge: dies in plain JavaScript that run the fixed operations over real files,
 * so that everything from a record to its done record happens, quickly. What they do wrong is an
 * argument. The kernels themselves are tested elsewhere.
 */
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { FileError, fileCall, invariant, ok } from "../base/mod.ts";
import type { ByteSource, Job, JobArgument, JobCause, JobResult, Owner } from "../owner/mod.ts";
import {
  CBD2_DONE,
  BLANK_CUBB2_JOB,
  CUBB2_JOB,
  CUBB_JOB,
  type Cbd2Done,
  type Cubb2Job,
  type CubbJob,
} from "../records/mod.ts";
import type { MailboxV1, MailboxV2 } from "./mailbox.ts";

export type FastDies = Pick<Owner, "run" | "discover"> & {
  /** What was run, in order of beginning, with the die. */
  readonly runs: readonly { readonly die: number; readonly job: Job }[];
};

export type FastDiesOptions = {
  readonly dies?: number;
  /** Called before a job runs; may wait, or say how it ends instead. */
  readonly before?: (job: Job, die: number) => Promise<JobResult | undefined>;
};

/** Makes the dies; jobs on one die run one after the other, as in a die host. */
export function createFastDies({ dies = 2, before }: FastDiesOptions = {}): FastDies {
  const runs: { readonly die: number; readonly job: Job }[] = [];
  const queues = new Map<number, Promise<unknown>>();
  const execute = async (die: number, job: Job): Promise<JobResult> => {
    runs.push({ die, job });
    return (await before?.(job, die)) ?? runFast(job);
  };
  return {
    runs,
    discover: () => {
      const found = Array.from({ length: dies }, (_, die) => ({
        die,
        address: `fast:${die}`,
        deviceName: "Fast die",
      }));
      return Promise.resolve(ok({ dies: found, occupant: null }));
    },
    run: (die, job) => {
      const mine = (queues.get(die) ?? Promise.resolve()).then(() => execute(die, job));
      queues.set(
        die,
        mine.catch(() => undefined),
      );
      return mine;
    },
  };
}

/** How a job ends that was refused. */
export const refusedResult = (name: string): JobResult => failedResult("refused", name);

export function failedResult(status: Exclude<JobResult["status"], "ok">, name: string): JobResult {
  const cause: JobCause = { name, code: 7, call: "fastRun", message: `${name} on purpose` };
  return { status, cause };
}

/** Runs one of ops 1 to 4. */
export function runFast(job: Job): JobResult {
  try {
    const values = inputsOf(job).map((bytes) => new Float32Array(bytes.buffer));
    const words = inputsOf(job).map((bytes) => new Uint32Array(bytes.buffer));
    const [a, b] = values;
    invariant(a !== undefined, "every operation has an input");
    const output = compute(job, a, b ?? a);
    const isMail = job.entry === "mail";
    const sums = isMail ? words[0] : output;
    let checksum = 0;
    for (const value of sums ?? []) checksum += value;
    writeOutput(job, new Uint8Array(output.buffer));
    const checked = job.check?.extent === "none" ? 0 : output.length;
    const bad = job.entry === "vadd_mutated" ? checked : 0;
    return {
      status: "ok",
      device: "Fast die",
      measures: { kernelNs: 1000, wallNs: 2000, bytesIn: 0, bytesOut: output.byteLength },
      proof: { checked, bad, checksum: String(checksum), firstSample: null, firstBad: null },
    };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const { code, call, message } = error;
    return { status: "io_error", cause: { name: code, code: 0, call, message } };
  }
}

function compute(job: Job, a: Float32Array, b: Float32Array): Float32Array {
  const iterations = job.check?.iterations ?? 0;
  switch (job.entry) {
    case "mail":
      return a;
    case "vadd":
      return a.map((value, index) => value + (b[index] ?? 0));
    case "vadd_mutated":
      return a.map((value, index) => value + (b[index] ?? 0) + 1);
    default:
      return a.map((value) => value + iterations);
  }
}

type BufferArgument = Extract<JobArgument, { readonly kind: "buffer" }>;

const buffersOf = (job: Job): readonly BufferArgument[] =>
  job.arguments.filter((argument) => argument.kind === "buffer");

const inputsOf = (job: Job): readonly Uint8Array[] =>
  buffersOf(job).flatMap(({ source, bytes }) => {
    const from = placeOf(job, source);
    return from === null ? [] : [readExactly(from.path, from.offset, bytes)];
  });

function placeOf(job: Job, source: ByteSource): { path: string; offset: number } | null {
  if (source.kind === "memory") return { path: source.path, offset: source.offset };
  if (source.kind !== "payload") return null;
  return { path: job.payload?.input?.path ?? "", offset: source.offset };
}

function readExactly(path: string, offset: number, bytes: number): Uint8Array {
  const file = fileCall("open", path, () => openSync(path, "r"));
  try {
    const into = new Uint8Array(bytes);
    const count = fileCall("read", path, () => readSync(file, into, 0, bytes, offset));
    if (count !== bytes) throw new FileError({ code: "SHORT", call: "read", path });
    return into;
  } finally {
    closeSync(file);
  }
}

function writeOutput(job: Job, bytes: Uint8Array): void {
  const target = buffersOf(job)[0]?.target;
  if (target?.kind === "memory") {
    const { path, offset } = target;
    writeIn(path, bytes, offset);
    return;
  }
  const output = job.payload?.output ?? null;
  if (output === null) return;
  const { path, placement } = output;
  if (placement === "in_place") {
    writeIn(path, bytes, null);
    return;
  }
  const beside = `${path}.${process.pid}.new`;
  fileCall("write", path, () => writeFileSync(beside, bytes));
  fileCall("rename", path, () => renameSync(beside, path));
}

function writeIn(path: string, bytes: Uint8Array, offset: number | null): void {
  fileCall("stat", path, () => statSync(path));
  const file = fileCall("open", path, () => openSync(path, "r+"));
  try {
    const count = fileCall("write", path, () => writeSync(file, bytes, 0, bytes.length, offset));
    if (count !== bytes.length) throw new FileError({ code: "SHORT", call: "write", path });
  } finally {
    closeSync(file);
  }
}

const COMMON = {
  verify: "auto",
  dies: null,
  timeoutMs: 1000,
  timeoutMaxMs: 60_000,
  forgetSequence: false,
} as const;

/** A v2 mailbox of four files in the folder. */
export const mailboxV2In = (folder: string, more: Partial<MailboxV2> = {}): MailboxV2 => ({
  ...COMMON,
  name: "test",
  version: 2,
  modules: null,
  job: `${folder}/job`,
  in: `${folder}/in`,
  out: `${folder}/out`,
  done: `${folder}/done`,
  ...more,
});

/** A v1 mailbox over a RAM file in the folder. */
export const mailboxV1In = (folder: string, more: Partial<MailboxV1> = {}): MailboxV1 => ({
  ...COMMON,
  name: "test",
  version: 1,
  ramLowBytes: 2 ** 31,
  job: `${folder}/job`,
  done: `${folder}/done`,
  ram: `${folder}/ram`,
  ...more,
});

/** Where thousands of files are written at no cost: each on a disk would be flushed to it. */
export const MEMORY_FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** A folder for one test, removed after it. */
export function testFolder(context: TestContext, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, "holdfast-bridge-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The value of a v2 record: mail of four words, unless it is said otherwise. */
export const cubb2Job = (more: Partial<Cubb2Job> = {}): Cubb2Job => ({
  ...BLANK_CUBB2_JOB,
  seq: 1n,
  op: 1,
  n: 4n,
  inBytes: 16n,
  outBytes: 16n,
  guestId: 7n,
  ...more,
});

/** Its bytes. */
export const recordV2 = (more: Partial<Cubb2Job> = {}): Uint8Array =>
  CUBB2_JOB.encode(cubb2Job(more));

/** The value of a v1 record: mail of four words from 0 to 0x1000. */
export const cubbJob = (more: Partial<CubbJob> = {}): CubbJob => ({
  seq: 1n,
  op: 1,
  n: 4,
  gpaA: 0n,
  gpaB: 0n,
  gpaC: 0x1000n,
  ...more,
});

export const recordV1 = (more: Partial<CubbJob> = {}): Uint8Array => CUBB_JOB.encode(cubbJob(more));

/** Puts a file in place as a careful producer does. */
export function place(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.producer`, bytes);
  renameSync(`${path}.producer`, path);
}

/** The done record of a v2 mailbox; null where there is none. */
export function doneIn(folder: string): Cbd2Done | null {
  try {
    const decoded = CBD2_DONE.decode(readFileSync(join(folder, "done")));
    return decoded.ok ? decoded.value : null;
  } catch {
    return null;
  }
}
