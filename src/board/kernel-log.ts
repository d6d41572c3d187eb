/**
 * Follows the kernel's log, /dev/kmsg, from now on: one record a read, never blocking. What is
 * wrong with the log itself is told in one line and harms nothing: health is found without it too.
 */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { EventClock } from "../base/mod.ts";

/** One record, as the kernel's documentation of /dev/kmsg has it. */
export type KernelRecord = {
  /** 0 (emergency) to 7 (debug). */
  readonly level: number;
  readonly sequence: number;
  /** Since the machine was started. */
  readonly timeUs: number;
  /** True where it goes on with the message of the record before it. */
  readonly isContinuation: boolean;
  /** A piece of a message: old kernels say so of the first one, newer ones of those after it. */
  readonly isPiece: boolean;
  /** Its lines, separated by \n. */
  readonly text: string;
};

/** Where records come from: an open /dev/kmsg, or what a test brings. */
export type KernelLogSource = {
  /** read(2) of one record: bytes, or throws an error with `code`, EAGAIN where there is none. */
  readonly read: (into: Uint8Array) => number;
  readonly close: () => void;
};

export type KernelLogOptions = {
  readonly clock: EventClock;
  readonly onRecord: (record: KernelRecord) => void;
  /** Takes what was there before: it is not news, and may explain what is. */
  readonly onOldRecord?: (record: KernelRecord) => void;
  /** Takes a line that the operator should see. */
  readonly onNote: (line: string) => void;
  /** Opens the log; throws as open(2) does. */
  readonly open: () => KernelLogSource;
};

/**
 * How often we look, in milliseconds: an Xid is acted on within it, and an idle log costs little.
 */
export const KERNEL_LOG_POLL_MS = 250;

/** Records read in one go, so that a flood does not hold up everything else. */
export const RECORDS_PER_POLL_MAX = 500;

/** Records that were there before us; the largest buffer that a kernel is given has fewer. */
const OLD_RECORDS_MAX = 2_000_000;

/** The kernel's largest record, with its dictionary (CONSOLE_EXT_LOG_MAX, 8 KiB), twice over. */
const RECORD_BYTES_MAX = 16 * 1024;

/** Lost records are told at most this often, in milliseconds: who floods the log floods on. */
const LOST_NOTE_MS = 60_000;

/** Opens /dev/kmsg under `root`, which is `/` or a folder that stands for it. */
export function openKernelLog(root: string): KernelLogSource {
  const file = openSync(join(root, "dev/kmsg"), constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    read: (into) => readSync(file, into, 0, into.length, null),
    close: () => closeSync(file),
  };
}

/** Calls back for each record from now on; the returned function ends that. */
export function followKernelLog(options: KernelLogOptions): () => void {
  let source: KernelLogSource;
  try {
    source = options.open();
  } catch (error) {
    options.onNote(unreadableNote(errorCode(error)));
    return () => undefined;
  }
  const follower = new Follower(options, source);
  follower.poll();
  return () => follower.stop();
}

const unreadableNote = (code: string): string =>
  `the kernel log (/dev/kmsg) cannot be read (${code}): Xid lines are not seen, lost dies are ` +
  (code === "EPERM" || code === "EACCES"
    ? "found by probes alone; run as root, or with CAP_SYSLOG"
    : "found by probes alone");

class Follower {
  readonly #options: KernelLogOptions;
  readonly #source: KernelLogSource;
  readonly #bytes = new Uint8Array(RECORD_BYTES_MAX);
  #cancel: () => void = () => undefined;
  #isOpen = true;
  /** The device begins with what the kernel still has; that is not news. */
  #isOld = true;
  #oldRecords = 0;
  #lastSequence: number | null = null;
  #lost = 0;
  #lostToldMs = -Infinity;

  constructor(options: KernelLogOptions, source: KernelLogSource) {
    this.#options = options;
    this.#source = source;
  }

  stop(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cancel();
    this.#source.close();
  }

  readonly poll = (): void => {
    const isMore = this.#readSome();
    if (!this.#isOpen) return;
    this.#tellLost();
    this.#cancel = this.#options.clock.after(isMore ? 0 : KERNEL_LOG_POLL_MS, this.poll);
  };

  /** True where there may be more at once. */
  #readSome(): boolean {
    for (let count = 0; count < RECORDS_PER_POLL_MAX; count++) {
      // Whoever hears of a record may stop us.
      if (!this.#isOpen) return false;
      let length: number;
      try {
        length = this.#source.read(this.#bytes);
      } catch (error) {
        const code = errorCode(error);
        // Overwritten before we came: the next read has the oldest that is left. EINVAL: a record
        // longer than our buffer, which the kernel has skipped.
        if (code === "EPIPE" || code === "EINVAL" || code === "EINTR") continue;
        if (code !== "EAGAIN") {
          this.#options.onNote(unreadableNote(code));
          this.stop();
        }
        this.#isOld = false;
        return false;
      }
      if (length === 0) return this.#endOfFile();
      this.#take(this.#bytes.subarray(0, length));
    }
    return true;
  }

  /** A plain file in the place of the device ends; the device itself never does. */
  #endOfFile(): boolean {
    this.#isOld = false;
    return false;
  }

  #take(bytes: Uint8Array): void {
    const record = parseKernelRecord(new TextDecoder().decode(bytes));
    if (record === null) return;
    const gap = this.#lastSequence === null ? 0 : record.sequence - this.#lastSequence - 1;
    this.#lastSequence = record.sequence;
    if (this.#isOld && ++this.#oldRecords < OLD_RECORDS_MAX) {
      this.#options.onOldRecord?.(record);
      return;
    }
    if (gap > 0) this.#lost += gap;
    this.#options.onRecord(record);
  }

  #tellLost(): void {
    const nowMs = this.#options.clock.nowMs();
    if (this.#lost === 0 || nowMs - this.#lostToldMs < LOST_NOTE_MS) return;
    this.#options.onNote(
      `the kernel log was overwritten faster than it could be read: ${this.#lost} records lost`,
    );
    this.#lost = 0;
    this.#lostToldMs = nowMs;
  }
}

/**
 * A record of /dev/kmsg: `level|facility,sequence,microseconds,flags[,more];text`, then lines that
 * begin with a blank and are no text. Bytes that cannot be shown, line ends too, are \xNN in it.
 * Null for what is none.
 */
export function parseKernelRecord(raw: string): KernelRecord | null {
  const match = /^(\d{1,10}),(\d{1,20}),(\d{1,20}),([^,;\n]*)[^;\n]*;([^\n]*)/.exec(raw);
  if (match === null) return null;
  const [, priority = "", sequence = "", time = "", flags = "", text = ""] = match;
  return {
    level: Number(priority) & 7,
    sequence: Number(sequence),
    timeUs: Number(time),
    isContinuation: flags.includes("+"),
    isPiece: flags.includes("c"),
    // Bytes of one character follow each other.
    text: text.replaceAll(/(?:\\x[0-9a-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll("\\x", ""), "hex").toString("utf8"),
    ),
  };
}

function errorCode(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "UNKNOWN";
}
