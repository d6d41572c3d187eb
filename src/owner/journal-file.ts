/**
 * The journal's file. Several owners may share one: each entry is one write of one whole line, and
 * whoever finds that the file was put aside, or removed, goes on in the new one.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

import {
  besideName,
  err,
  fileCall,
  FileError,
  makeFolder,
  ok,
  removeQuietly,
  takeAfter,
  type Result,
} from "../base/mod.ts";
import type { SlotKind } from "../board/mod.ts";
import type { Journal, JournalEntry, JournalLine } from "./journal.ts";
import { openRungs } from "./journal-report.ts";

/** What the journal is called in the state directory. */
export const JOURNAL_NAME = "bring-up.journal";

/** A journal that is longer becomes `<path>.old`: some ten thousand moves of a window. */
const JOURNAL_BYTES_MAX = 4 * 1024 * 1024;

/** More than a journal and its last line can have: what is longer is read from here on. */
const READ_BYTES_MAX = 4 * JOURNAL_BYTES_MAX;

/** So that a named pipe in the journal's place is told, and not waited for. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;
const APPEND_FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

const NEWLINE = 0x0a;

/** Which start of the machine this is; `root` is `/`, or a folder that stands for it. */
export function readBootId(root: string): string {
  try {
    return readFileSync(join(root, "proc/sys/kernel/random/boot_id"), "utf8").trim();
  } catch {
    return "unknown";
  }
}

/**
 * What the journal at that path holds, from what was put aside before on; empty where there is
 * none. An error says why it cannot be read.
 */
export function readJournal(path: string): Result<string, string> {
  try {
    return ok(readText(`${path}.old`) + readText(path));
  } catch (error) {
    return err(messageOf(error));
  }
}

/** Throws FileError. */
function readText(path: string): string {
  let file: number;
  try {
    file = fileCall("open", path, () => openSync(path, READ_FLAGS));
  } catch (error) {
    const code = error instanceof FileError ? error.code : "";
    // ENOTDIR: something above it is a file, and there is no journal.
    if (code === "ENOENT" || code === "ENOTDIR") return "";
    throw error;
  }
  try {
    const { size } = checkRegular(file, path);
    const bytes = Buffer.alloc(Math.min(size, READ_BYTES_MAX));
    const start = size - bytes.length;
    const count = fileCall("read", path, () => readSync(file, bytes, 0, bytes.length, start));
    return bytes.toString("utf8", 0, count);
  } finally {
    closeSync(file);
  }
}

/** Throws FileError where that is a folder, a pipe or a device. */
function checkRegular(file: number, path: string): { readonly size: number } {
  const found = fstatSync(file);
  if (found.isFile()) return found;
  const detail = "it is not a regular file: move it away";
  throw new FileError({ code: "EINVAL", call: "open", path, detail });
}

export type JournalOptions = {
  readonly path: string;
  readonly now: () => Date;
  readonly bootId: string;
  /** How this owner reaches its dies. */
  readonly slot: SlotKind;
  /** Of this process, as `startTicks` of a line; left out or 0: not known. */
  readonly startTicks?: number;
};

/**
 * Opens the journal for appending, making its directory. Each entry is one JournalLine. `begin` is
 * flushed to the disk before `write` returns; the others follow in its wake.
 */
export function openJournal(options: JournalOptions): Result<Journal, string> {
  try {
    const file = new JournalFile(options);
    process.once("exit", () => file.close());
    return ok({ write: (entry) => file.write(entry) });
  } catch (error) {
    return err(messageOf(error));
  }
}

class JournalFile {
  readonly #options: JournalOptions;
  #file: number;
  /** Lines that could not be written and are to follow: how rungs ended that were begun. */
  #owed = "";
  /** The file is put aside once it is longer. */
  #bytesMax = JOURNAL_BYTES_MAX;

  /** Throws FileError. */
  constructor(options: JournalOptions) {
    this.#options = options;
    makeFolder(dirname(options.path), 0o700);
    this.#file = openToAppend(options.path);
    this.#beginAnew();
  }

  close(): void {
    closeSync(this.#file);
  }

  write(entry: JournalEntry): Result<void, string> {
    const { now, bootId: boot, slot, startTicks = 0 } = this.#options;
    const { pid } = process;
    const start = startTicks === 0 ? {} : { startTicks };
    const line: JournalLine = { time: now().toISOString(), pid, ...start, boot, slot, ...entry };
    const text = `${JSON.stringify(line)}\n`;
    let isAppended = false;
    try {
      this.#follow();
      appendWhole(this.#file, this.#options.path, this.#owed + text);
      isAppended = true;
      this.#owed = "";
      if (entry.phase === "begin") this.#flush();
    } catch (error) {
      const detail = messageOf(error);
      if (entry.phase !== "begin") this.#owed += isAppended ? "" : text;
      else if (isAppended)
        this.#owed += `${JSON.stringify({ ...line, phase: "failed", detail })}\n`;
      return err(detail);
    }
    this.#beginAnew();
    return ok(undefined);
  }

  #flush(): void {
    fileCall("fsync", this.#options.path, () => fsyncSync(this.#file));
  }

  /** Goes to the file that has the path by now, which another owner may have put there. */
  #follow(): void {
    const { path } = this.#options;
    const there = fileCall("stat", path, () => statSync(path, { throwIfNoEntry: false }));
    const { ino, dev } = fstatSync(this.#file);
    if (there?.ino === ino && there.dev === dev) return;
    makeFolder(dirname(path), 0o700);
    const file = openToAppend(path);
    closeSync(this.#file);
    this.#file = file;
  }

  /**
   * Puts a long file aside and begins a new one, with what is open in it; the disk has the new one
   * before it takes the old one's name. Where that fails the old one grows on: an entry matters
   * more, and says so itself where there is no room for it.
   */
  #beginAnew(): void {
    const { path } = this.#options;
    const { size } = fstatSync(this.#file);
    if (size <= this.#bytesMax) return;
    const beside = besideName(path, `journal-${process.pid}`);
    try {
      removeQuietly(beside);
      const text = readText(`${path}.old`) + readText(path);
      const open = openRungs(text).map((line) => `${JSON.stringify(line)}\n`);
      const file = openToAppend(beside);
      takeAfter(file, beside, fstatSync(this.#file));
      closeSync(this.#file);
      this.#file = file;
      appendWhole(file, beside, open.join(""));
      fileCall("fsync", beside, () => fsyncSync(file));
      fileCall("rename", path, () => renameSync(path, `${path}.old`));
      fileCall("rename", beside, () => renameSync(beside, path));
      syncFolder(path);
      this.#bytesMax = JOURNAL_BYTES_MAX;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      removeQuietly(beside);
      this.#bytesMax = size + JOURNAL_BYTES_MAX;
    }
  }
}

/** Throws FileError. */
function openToAppend(path: string): number {
  const file = fileCall("open", path, () => openSync(path, APPEND_FLAGS, 0o600));
  try {
    checkRegular(file, path);
    syncFolder(path);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** A line that is flushed is lost with the machine all the same, if its file's name is. */
function syncFolder(path: string): void {
  const folder = dirname(path);
  const file = fileCall("open", folder, () => openSync(folder, constants.O_RDONLY));
  try {
    fileCall("fsync", folder, () => fsyncSync(file));
  } finally {
    closeSync(file);
  }
}

/** Begins on a line of its own, whatever a crash or a full disk has left. Throws FileError. */
function appendWhole(file: number, path: string, text: string): void {
  const isTorn = fileCall("read", path, () => endsTorn(file));
  const bytes = Buffer.from(isTorn ? `\n${text}` : text);
  const count = fileCall("write", path, () => writeSync(file, bytes));
  if (count === bytes.length) return;
  const detail = `${count} of ${bytes.length} bytes were taken: is the disk full?`;
  throw new FileError({ code: "SHORT", call: "write", path, detail });
}

function endsTorn(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE;
}

/** What is no failure of a file is a bug, and goes on. */
function messageOf(error: unknown): string {
  if (error instanceof FileError) return error.message;
  throw error;
}
