/** The mailbox module from the tests' side; what its files do is in test/kernel/module/mailbox.h. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { untilTrue } from "./until.ts";
import { CBD2_DONE, CUBB2_JOB, type Cbd2Done, type Cubb2Job } from "../../../src/records/mod.ts";

/** The mailbox as the daemon sees it. */
export const MAILBOX = "/sys/kernel/debug/vgsp";

const CONTROL = "/sys/kernel/debug/hf_mailbox";
const MODULE_FILE = "/mnt/hf_mailbox.ko";

/** Output that an answer may hold; the tests' largest has 64 KiB. */
const OUT_BYTES_MAX = 2 ** 20;

/** A poll that is under way holds the module for some 100 us; the next try finds it free. */
const UNLOAD_TRIES_MAX = 50;

export function loadModule(): void {
  execFileSync("insmod", [MODULE_FILE], { encoding: "utf8", stdio: "pipe" });
}

/** Unloads it as an administrator would. Throws where somebody holds it all the time. */
export function unloadModule(): void {
  for (let tries = 1; ; tries++) {
    try {
      execFileSync("rmmod", ["hf_mailbox"], { encoding: "utf8", stdio: "pipe" });
      return;
    } catch (error) {
      if (tries === UNLOAD_TRIES_MAX) throw error;
    }
  }
}

export type Behaviour = {
  readonly idle_eagain: boolean;
  readonly ignore_offset: boolean;
  readonly refuse_small: boolean;
  readonly keep_job: boolean;
  readonly read_bytes_max: number;
  readonly done_failures: number;
  readonly wait_ms: number;
};

/** What a mailbox does that nobody asked for anything else. */
const USUAL: Behaviour = {
  idle_eagain: false,
  ignore_offset: false,
  refuse_small: false,
  keep_job: false,
  read_bytes_max: 0,
  done_failures: 0,
  wait_ms: 60_000,
};

/** Sets how the files behave; what is not named is as usual. */
export function setBehaviour(behaviour: Partial<Behaviour>): void {
  for (const [name, value] of Object.entries({ ...USUAL, ...behaviour })) {
    writeFileSync(`${CONTROL}/${name}`, String(Number(value)));
  }
}

export type Stats = Readonly<
  Record<
    | (
        | "job_reads"
        | "job_shown"
        | "in_reads"
        | "out_writes"
        | "out_refused"
        | "done_writes"
        | "done_accepted"
      )
    | "done_refused_size"
    | ("done_refused_magic" | "done_refused_crc" | "done_refused_seq" | "done_refused_out")
    | ("launches" | "timeouts" | "held"),
    number
  >
>;

export function readStats(): Stats {
  const lines = readFileSync(`${CONTROL}/stats`, "utf8").trim().split("\n");
  return Object.fromEntries(
    lines.map((line) => line.split(" ")).map(([name = "", value]) => [name, Number(value)]),
  ) as Stats;
}

/** Waits until the daemon has looked at the job file as it is now. */
export async function untilPolled(): Promise<void> {
  const { job_reads } = readStats();
  // The first of the two may have been under way.
  await untilTrue(() => readStats().job_reads >= job_reads + 2);
}

/** How much each counter grew while `action` ran. */
export async function countDuring(action: () => Promise<void>): Promise<Stats> {
  const before = readStats();
  await action();
  const after = Object.entries(readStats());
  return Object.fromEntries(
    after.map(([name, value]) => [name, value - before[name as keyof Stats]]),
  ) as Stats;
}

/** What a launch got back. */
export type Answer = {
  readonly done: Cbd2Done;
  readonly doneBytes: Uint8Array;
  readonly out: Uint8Array;
};

/** A job without what the mailbox fills in by itself, or the tests leave as it is. */
export type JobRequest = Partial<Cubb2Job> & Pick<Cubb2Job, "op" | "n" | "outBytes">;

export const jobOf = (request: JobRequest, seq: bigint, inBytes: number): Cubb2Job => ({
  flags: 0,
  timeoutMs: 0,
  grid: [0, 0, 0],
  block: [0, 0, 0],
  sharedBytes: 0,
  descBytes: 0,
  guestId: 7n,
  iters: 0,
  seq,
  inBytes: BigInt(inBytes),
  ...request,
});

/**
 * Launches as a guest does: the kernel numbers and seals the record, and the call sleeps there
 * until the done record came. Rejects with ETIMEDOUT where none comes.
 */
export async function launch(request: JobRequest, input: Uint8Array): Promise<Answer> {
  return ask(await open(`${CONTROL}/launch`, "r+"), sealedHere(request, input.length), input);
}

/** Posts bytes as they are, and waits in the same way. */
export async function post(record: Uint8Array, input: Uint8Array): Promise<Answer> {
  return ask(await open(`${CONTROL}/post`, "r+"), record, input);
}

/** Opens the way for one launch that may be made when nothing can be opened any more. */
export async function prepareLaunch(): Promise<typeof launch> {
  const file = await open(`${CONTROL}/launch`, "r+");
  return (request, input) => ask(file, sealedHere(request, input.length), input);
}

/** A sealed record under the next sequence number, which the kernel then holds for used. */
export function nextRecord(request: JobRequest, inBytes: number): Uint8Array {
  const seq = lastSeq() + 1n;
  setLastSeq(seq);
  return CUBB2_JOB.encode(jobOf(request, seq, inBytes));
}

/** Makes the kernel count on from there. */
export function setLastSeq(seq: bigint): void {
  writeFileSync(`${CONTROL}/last_seq`, String(seq));
}

/** The sequence number that was used last. */
export const lastSeq = (): bigint => BigInt(readFileSync(`${CONTROL}/last_seq`, "utf8").trim());

/** The kernel puts in its own seq and CRC. */
const sealedHere = (request: JobRequest, inBytes: number): Uint8Array =>
  CUBB2_JOB.encode(jobOf(request, 1n, inBytes));

async function ask(file: FileHandle, record: Uint8Array, input: Uint8Array): Promise<Answer> {
  try {
    await file.write(Buffer.concat([record, input]));
    const bytes = Buffer.alloc(CBD2_DONE.bytes + OUT_BYTES_MAX);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    const doneBytes = Uint8Array.from(bytes.subarray(0, CBD2_DONE.bytes));
    const done = CBD2_DONE.decode(doneBytes);
    if (!done.ok) throw new Error(done.error.message);
    const out = Uint8Array.from(bytes.subarray(CBD2_DONE.bytes, bytesRead));
    return { done: done.value, doneBytes, out };
  } finally {
    await file.close();
  }
}
