/**
 * Where lines go that must be out before the next step begins: each is written whole and at once to
 * a file descriptor, with no buffer that a crash could lose. A sink outlives its reader: a pipe
 * whose reader left, a full disk or a stalled terminal costs lines, never the process.
 */
import { writeSync } from "node:fs";

/** How long a line waits for a reader that takes nothing of it, in milliseconds. */
export const SINK_WAIT_MS_MAX = 2_000;

/** Between two tries, in milliseconds. */
const RETRY_MS = 5;

export type LineSink = {
  /** Writes the text, which ends its own line. Never throws. */
  readonly write: (text: string) => void;
  /** False once the reader is gone for good; what is written then is dropped. */
  readonly isOpen: () => boolean;
  /**
   * Why a line could not be kept (`ENOSPC`, `EFBIG`, …), the first time that it happened; null
   * where all were taken. A reader that left or stood still does not count: it chose to.
   */
  readonly failure: () => string | null;
};

export type LineSinkOptions = {
  readonly fileDescriptor: number;
  /** Words for the line that tells of lost lines, once there is room again. */
  readonly lostNote?: (lines: number, code: string) => string;
  /** write(2): returns the bytes taken, throws with `code`. For tests. */
  readonly writeBytes?: (fileDescriptor: number, bytes: Uint8Array) => number;
  /** Blocks this thread. For tests. */
  readonly waitMs?: (ms: number) => void;
};

/** What ended a write early. */
type Outcome = "done" | "stalled" | "gone" | { readonly failed: string };

/** The reader will not come back: closed pipe, hung-up terminal, closed descriptor. */
const GONE: ReadonlySet<string> = new Set(["EPIPE", "EIO", "EBADF", "ECONNRESET"]);

/** Makes a sink over an open file descriptor, which stays the caller's. */
export function createLineSink(options: LineSinkOptions): LineSink {
  const { fileDescriptor, lostNote = defaultLostNote } = options;
  const writeBytes = options.writeBytes ?? ((fd, bytes) => writeSync(fd, bytes));
  const waitMs = options.waitMs ?? blockFor;
  let isGone = false;
  // After one stall further lines do not wait again, or a stopped reader would stop the process.
  let isStalled = false;
  let unfinished: Uint8Array = new Uint8Array(0);
  let lost = { lines: 0, code: "" };
  let failure: string | null = null;

  const drain = (): Outcome => {
    let waitedMs = 0;
    while (unfinished.length > 0) {
      try {
        unfinished = unfinished.subarray(writeBytes(fileDescriptor, unfinished));
        // Whoever reads slowly reads: only standing still counts.
        waitedMs = 0;
      } catch (error) {
        const code = errorCode(error);
        if (GONE.has(code)) return "gone";
        if (code === "EINTR") continue;
        if (code !== "EAGAIN") {
          failure ??= code;
          return { failed: code };
        }
        if (isStalled || waitedMs >= SINK_WAIT_MS_MAX) return "stalled";
        waitMs(RETRY_MS);
        waitedMs += RETRY_MS;
      }
    }
    return "done";
  };

  const put = (text: string): boolean => {
    const bytes = new TextEncoder().encode(text);
    unfinished = bytes;
    const outcome = drain();
    isStalled = outcome === "stalled";
    if (outcome === "done") return true;
    if (outcome === "gone") isGone = true;
    else lost = { lines: lost.lines + 1, code: codeOf(outcome) };
    // A line that went out in part is finished before the next one begins; any other is dropped.
    if (unfinished.length === bytes.length) unfinished = new Uint8Array(0);
    else lost = { ...lost, lines: lost.lines - 1 };
    return false;
  };

  const write = (text: string): void => {
    if (isGone) return;
    if (unfinished.length > 0) {
      const outcome = drain();
      if (outcome === "gone") isGone = true;
      if (outcome !== "done") {
        lost = { lines: lost.lines + 1, code: codeOf(outcome) };
        return;
      }
    }
    const before = lost;
    const note = before.lines === 0 ? "" : lostNote(before.lines, before.code);
    lost = { lines: 0, code: "" };
    // In one piece: a note that goes into the last gap of a full pipe would end the stall, and the
    // line after it would wait once more.
    if (!put(note + text) && lost.lines > 0 && before.lines > 0) {
      lost = { ...before, lines: before.lines + 1 };
    }
  };
  return { write, isOpen: () => !isGone, failure: () => failure };
}

function codeOf(outcome: Outcome): string {
  return typeof outcome === "string" ? "EAGAIN" : outcome.failed;
}

function defaultLostNote(lines: number, code: string): string {
  return `${String(lines)} lines lost before this one (${code})\n`;
}

function errorCode(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code !== "string") throw error;
  return code;
}

function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
