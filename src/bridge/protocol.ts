/** What the two versions of the protocol have in common, as a mailbox's server sees them. */
import type { Result } from "../base/mod.ts";
import type { Job } from "../owner/mod.ts";
import { statusName, type RecordFault, type StatusName } from "../records/mod.ts";
import type { Ending, Refusal } from "./ending.ts";

/** An ending, and how long it took from the job seen to its output written. */
export type TimedEnding = Ending & { readonly wallNs: number };

/** A job that was posted, and can be answered. */
export type PostedJob = {
  readonly seq: bigint;
  /** A lower sequence number than the last is let through. */
  readonly isReset: boolean;
  /** What log lines call it. */
  readonly label: string;
  /** Checks the record by every rule and makes the owner's job of it. */
  readonly admit: () => Promise<Result<Job, Refusal>>;
  readonly encodeDone: (ending: TimedEnding) => Uint8Array;
  /** The greppable line. */
  readonly line: (ending: Ending) => string;
};

/** Why there is no job to answer: the code for the counter, the message for the log. */
export type UnansweredRecord = { readonly reason: string; readonly message: string };

/** The last completed job of a mailbox. */
export type CompletedJob = {
  readonly seq: bigint;
  readonly status: string;
  readonly done: Uint8Array;
};

export type Protocol = {
  readonly recordBytes: number;
  /** What a producer whose sequence numbers are below the last one can do. */
  readonly staleMend: string;
  /** Takes what the job file holds; any bytes. */
  readonly read: (bytes: Uint8Array) => Result<PostedJob, UnansweredRecord>;
  readonly doneBytes: number;
  /** What a done record of this protocol says; null where the bytes are none. */
  readonly readDone: (bytes: Uint8Array) => CompletedJob | null;
};

type DoneRecord = {
  readonly decode: (
    bytes: Uint8Array,
  ) => Result<{ readonly seq: bigint; readonly status: number }, RecordFault>;
};

/** What a done record says that was read back; null where the bytes are none. */
export function completedJob(record: DoneRecord, bytes: Uint8Array): CompletedJob | null {
  const decoded = record.decode(bytes);
  if (!decoded.ok) return null;
  const { seq, status } = decoded.value;
  return { seq, status: statusName(status), done: bytes };
}

/** The status of a record that is wrong, but whose sequence number can be trusted. */
export function faultStatus(fault: RecordFault): StatusName {
  switch (fault.code) {
    case "bad_version":
      return "bad_version";
    case "bad_record_bytes":
      return "bad_size";
    case "bad_reserved":
      return "bad_flags";
    case "short":
    case "bad_magic":
    case "bad_crc":
      return "internal";
  }
}

type JobRecord = {
  readonly bytes: number;
  readonly decode: (bytes: Uint8Array) => Result<unknown, RecordFault>;
};

/** Below this a beginning says too little to be called anything but short. */
const MAGIC_BYTES = 8;

/** What is wrong with bytes that are no record. A short one of another kind is called that. */
export function unanswered(
  record: JobRecord,
  bytes: Uint8Array,
  fault: RecordFault,
): UnansweredRecord {
  if (fault.code === "short" && bytes.length >= MAGIC_BYTES) {
    const padded = new Uint8Array(record.bytes);
    padded.set(bytes);
    const whole = record.decode(padded);
    if (!whole.ok && whole.error.code === "bad_magic") {
      return { reason: whole.error.code, message: whole.error.message };
    }
  }
  return { reason: fault.code, message: fault.message };
}
