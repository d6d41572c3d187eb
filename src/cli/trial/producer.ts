/** A producer over plain files, as a guest's kernel module is one over debugfs. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Clock, Result } from "../../base/mod.ts";
import { CBD2_DONE, CUBD_DONE, type Cbd2Done, type CubdDone } from "../../records/mod.ts";

/** Between two looks at the done file. */
const LOOK_MS = 1;

export type ProducerOptions = {
  /** Absolute. */
  readonly job: string;
  readonly done: string;
  readonly clock: Clock;
  /** Longest wait for a done record, in milliseconds. */
  readonly waitMsMax: number;
};

/** Posts records and waits for their done records. One record is under way at a time. */
export type Producer<Done> = {
  /** Puts the record in place as a whole. */
  readonly post: (record: Uint8Array) => void;
  /** Takes the record away: the mailbox is idle. */
  readonly clear: () => void;
  /** The done record of that sequence number; null where none came in time. */
  readonly waitForDone: (seq: bigint) => Promise<Done | null>;
  /** True as soon as `isSeen` is; false where that did not happen in time. */
  readonly waitUntil: (isSeen: () => boolean) => Promise<boolean>;
};

export const createProducerV2 = (options: ProducerOptions): Producer<Cbd2Done> =>
  createProducer(options, CBD2_DONE.decode);

export const createProducerV1 = (options: ProducerOptions): Producer<CubdDone> =>
  createProducer(options, CUBD_DONE.decode);

function createProducer<Done extends { readonly seq: bigint }>(
  { job, done, clock, waitMsMax }: ProducerOptions,
  decode: (bytes: Uint8Array) => Result<Done, unknown>,
): Producer<Done> {
  const waitUntil = async (isSeen: () => boolean): Promise<boolean> => {
    const endMs = clock.nowMs() + waitMsMax;
    while (!isSeen()) {
      if (clock.nowMs() > endMs) return false;
      await clock.sleep(LOOK_MS);
    }
    return true;
  };
  return {
    post: (record) => putWhole(job, record),
    clear: () => rmSync(job, { force: true }),
    waitUntil,
    waitForDone: async (seq) => {
      let found: Done | null = null;
      await waitUntil(() => {
        const record = decode(readIfThere(done) ?? new Uint8Array(0));
        if (record.ok && record.value.seq === seq) found = record.value;
        return found !== null;
      });
      return found;
    },
  };
}

/** Writes a file so that a reader sees all of it or nothing: beside it first, then in its place. */
export function putWhole(path: string, bytes: Uint8Array): void {
  const beside = `${path}.new`;
  writeFileSync(beside, bytes);
  renameSync(beside, path);
}

/** Null where there is no such file. */
export function readIfThere(path: string): Uint8Array | null {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? null : readFileSync(path);
}

/** Tells one writing of a file from the next, the same bytes included; null without a file. */
export function fileIdentity(path: string): string | null {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true });
  return status === undefined ? null : `${status.ino} ${status.mtimeNs} ${status.ctimeNs}`;
}
