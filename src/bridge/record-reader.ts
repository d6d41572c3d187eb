/**
 * Reads a producer's job file, again and again, and tells what is new in it. The file may be
 * absent, empty, half written, replaced, or a call into a kernel module; none of that is an error.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";

import { fileCall, FileError } from "../base/mod.ts";
import {
  identityOf,
  isOnKernelFileSystem,
  isSameFile,
  isUntouched,
  type FileIdentity,
} from "./file-identity.ts";

/** Room offered to each read(2): kernel modules may refuse a buffer smaller than a page. */
const READ_BYTES = 4096;

/** A FIFO without a writer, and a producer that blocks its reader, must not stop the daemon. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** It went away between two calls, or has nothing to give. */
const IDLE_CODES: ReadonlySet<string> = new Set(["EAGAIN", "ENOENT", "ENOTDIR", "ENODEV", "ENXIO"]);

/**
 * From this long after a file was written its times tell of every further write: they go in steps
 * of the kernel's clock, up to 10 ms, on old ext4 of 1 s, and on FAT of 2 s.
 */
const TIME_STEP_MS_MAX = 2500;

/** Of so many looks one reads even so: what is written through a mapping changes no times. */
export const LOOKS_PER_READ = 16;

/** Content that was not dealt with yet. */
export type Sighting = {
  /** As many bytes as a record has, or fewer where the file holds fewer. */
  readonly bytes: Buffer;
  readonly identity: FileIdentity;
  /** A plain file, where content can be seen half written. */
  readonly isPlain: boolean;
};

export type Look =
  /** Absent, empty, or EAGAIN. */
  | { readonly kind: "idle" }
  /** What was settled, and not posted again since. */
  | { readonly kind: "same" }
  /** It is being written at this moment. */
  | { readonly kind: "changing" }
  | { readonly kind: "new"; readonly sighting: Sighting }
  | { readonly kind: "unreadable"; readonly error: FileError };

// Made once, since one of them is the answer to nearly every poll.
const IDLE: Look = { kind: "idle" };
const SAME: Look = { kind: "same" };
const CHANGING: Look = { kind: "changing" };

export class RecordReader {
  readonly #path: string;
  readonly #recordBytes: number;
  readonly #buffer: Buffer;
  readonly #nowMs: () => number;
  #settled: Sighting | null = null;
  #settledMs = 0;
  /** The settled content was read once more, so late that its file's times are to be trusted. */
  #isTimeTold = false;
  #looks = 0;
  /** The device on which the file was last, and whether that is a kernel's file system. */
  #device = -1;
  #isKernelDevice = false;

  constructor(path: string, recordBytes: number, nowMs: () => number) {
    this.#path = path;
    this.#nowMs = nowMs;
    this.#recordBytes = recordBytes;
    this.#buffer = Buffer.alloc(recordBytes + READ_BYTES);
  }

  /** Looks once. Never waits, and throws for bugs alone. */
  look(): Look {
    let file: number | null = null;
    try {
      const stats = this.#stat();
      if (stats === undefined) return this.#idle();
      const isPlain = this.#isPlain(stats);
      if (isPlain && stats.size === 0) return this.#idle();
      if (this.#isTimeTold && this.#isUntouched(stats)) return SAME;
      file = fileCall("open", this.#path, () => openSync(this.#path, OPEN_FLAGS));
      const count = this.#read(file);
      if (count === 0) return this.#idle();
      if (this.#isSettled(count, stats)) {
        this.#isTimeTold = isPlain && this.#nowMs() - this.#settledMs > TIME_STEP_MS_MAX;
        return SAME;
      }
      return this.#sight(file, count, isPlain);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (IDLE_CODES.has(error.code)) return this.#idle();
      this.forget();
      return { kind: "unreadable", error };
    } finally {
      // An open descriptor would keep a kernel module from being unloaded.
      if (file !== null) closeSync(file);
    }
  }

  /** What was seen is dealt with: it is `same` until it is posted again. */
  settle(sighting: Sighting): void {
    this.#settled = sighting;
    this.#settledMs = this.#nowMs();
    this.#isTimeTold = false;
  }

  /** Whatever is in the file is new, even if it was settled before. */
  forget(): void {
    this.#settled = null;
    this.#isTimeTold = false;
  }

  #idle(): Look {
    this.forget();
    this.#device = -1;
    return IDLE;
  }

  /** Undefined where there is no such file, without the cost of an exception. */
  #stat(): Stats | undefined {
    return fileCall("stat", this.#path, () => statSync(this.#path, { throwIfNoEntry: false }));
  }

  #isPlain(stats: Stats): boolean {
    // A device or a FIFO: what there is to read, only reading tells.
    if (!stats.isFile()) return false;
    if (stats.dev !== this.#device) {
      this.#isKernelDevice = isOnKernelFileSystem(this.#path);
      this.#device = stats.dev;
    }
    return !this.#isKernelDevice;
  }

  /** Fills the buffer up to a record; 0 where there is nothing to read yet. */
  #read(file: number): number {
    let count = 0;
    while (count < this.#recordBytes) {
      const at = count;
      // Without a position: a producer may ignore it, and then gives what comes next.
      const got = fileCall("read", this.#path, () =>
        readSync(file, this.#buffer, at, READ_BYTES, null),
      );
      if (got === 0) break;
      count += got;
    }
    return Math.min(count, this.#recordBytes);
  }

  /** True where the settled file was not touched since, by its times alone. */
  #isUntouched(found: FileIdentity): boolean {
    this.#looks += 1;
    const { identity } = this.#settled ?? {};
    return (
      identity !== undefined && this.#looks % LOOKS_PER_READ !== 0 && isUntouched(identity, found)
    );
  }

  #isSettled(count: number, found: FileIdentity): boolean {
    const settled = this.#settled;
    if (settled?.bytes.length !== count) return false;
    if (settled.bytes.compare(this.#buffer, 0, count) !== 0) return false;
    // Times say nothing of a kernel's file, and all of a plain one.
    return settled.isPlain
      ? isUntouched(settled.identity, found)
      : isSameFile(settled.identity, found);
  }

  /**
   * Takes what is in the buffer as new. A plain file is read once more, with its identity in
   * between: equal bytes before and after are what the identity belongs to, and not half of two.
   */
  #sight(file: number, count: number, isPlain: boolean): Look {
    const identity = identityOf(fileCall("fstat", this.#path, () => fstatSync(file)));
    const bytes = Buffer.from(this.#buffer.subarray(0, count));
    if (isPlain) {
      const again = fileCall("read", this.#path, () =>
        readSync(file, this.#buffer, 0, READ_BYTES, 0),
      );
      const isEqual = again >= count && bytes.compare(this.#buffer, 0, count) === 0;
      if (!isEqual || (again !== count && count < this.#recordBytes)) return CHANGING;
    }
    return { kind: "new", sighting: { bytes, identity, isPlain } };
  }
}
