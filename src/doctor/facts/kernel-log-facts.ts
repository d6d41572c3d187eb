/** The kernel's log as it is now: what its ring buffer still holds. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { toFileError } from "../../base/mod.ts";
import { parseKernelRecord } from "../../board/mod.ts";
import type { MachineFiles } from "../machine-files.ts";

export type LogLine = {
  /** Since the machine was started; null where the log does not say. */
  readonly seconds: number | null;
  /** A message; those of several lines are separated by \n. */
  readonly text: string;
};

export type LogFacts = { readonly lines: readonly LogLine[]; readonly isReadable: boolean };

const KMSG = "dev/kmsg";

/** The kernel's largest record, with its dictionary (CONSOLE_EXT_LOG_MAX, 8 KiB), twice over. */
const RECORD_BYTES_MAX = 16 * 1024;

/** The largest ring buffer has 2^25 bytes by configuration; a record of it has 40 or more. */
const RECORDS_MAX = 1_000_000;

/** A recorded log that is longer than any ring buffer is cut. */
const RECORDED_BYTES_MAX = 32 * 1024 * 1024;

/** Reads /dev/kmsg to its end without waiting; in a recorded tree, a file that holds records or
 * what dmesg prints. */
export function readKernelLog(files: MachineFiles): LogFacts {
  const found = files.stat(KMSG);
  if (found === null) return { lines: [], isReadable: false };
  try {
    const raw = found.isCharacterDevice() ? readRing(files.root) : readRecorded(files);
    return { lines: raw.flatMap((text) => lineOf(text) ?? []), isReadable: true };
  } catch (error) {
    files.deny({ path: KMSG, code: toFileError("read", KMSG, error).code });
    return { lines: [], isReadable: false };
  }
}

function readRecorded(files: MachineFiles): readonly string[] {
  const text = files.bytes(KMSG, RECORDED_BYTES_MAX)?.toString("utf8") ?? "";
  // dmesg sets what belongs to a message below it, further in.
  return text.replaceAll(/\n[ \t]+(?=\S)/g, "\\x0a").split("\n");
}

/** Each read gives one record. EPIPE says that some were overwritten meanwhile. */
function readRing(root: string): readonly string[] {
  const file = openSync(join(root, KMSG), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return recordsOf((into) => readSync(file, into, 0, into.length, null));
  } finally {
    closeSync(file);
  }
}

/** read(2) of one record into these bytes. */
type ReadRecord = (into: Buffer) => number;

/** All records up to the end; what cannot be had of them is left out. */
export function recordsOf(read: ReadRecord): readonly string[] {
  const bytes = Buffer.alloc(RECORD_BYTES_MAX);
  const found: string[] = [];
  for (let count = 0; count < RECORDS_MAX; count++) {
    const length = readOne(read, bytes);
    if (length === null) continue;
    if (length === 0) break;
    found.push(bytes.toString("utf8", 0, length));
  }
  return found;
}

/** Null: try again. 0: the end. */
function readOne(read: ReadRecord, bytes: Buffer): number | null {
  try {
    return read(bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EAGAIN") return 0;
    // EINVAL: a record longer than our buffer, which the kernel has passed over.
    if (code === "EPIPE" || code === "EINTR" || code === "EINVAL") return null;
    throw error;
  }
}

function lineOf(raw: string): LogLine | null {
  const record = parseKernelRecord(raw);
  if (record !== null) return { seconds: record.timeUs / 1e6, text: record.text };
  const [, seconds, text = ""] = /^(?:\[\s*(\d+\.\d+)\]\s)?(.*)$/s.exec(raw) ?? [];
  if (text.trim() === "") return null;
  const shown = text.replaceAll("\\x0a", "\n");
  return { seconds: seconds === undefined ? null : Number(seconds), text: shown };
}
