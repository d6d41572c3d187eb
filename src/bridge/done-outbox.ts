/**
 * The done record on its way to the producer. One that cannot be written is kept and tried again,
 * never its job; it is dropped where another job takes its place, or its mailbox is gone.
 */
import { FileError, type Clock } from "../base/mod.ts";
import type { FileIdentity } from "./file-identity.ts";
import { placeRecord } from "./file-placement.ts";
import type { NoticeLog } from "./notice-log.ts";

/** Between tries: the first after this, each further one after twice as long. */
export const RETRY_MS_MIN = 1;
export const RETRY_MS_MAX = 1000;

/** A done record and what follows once it is written. */
export type Answer = {
  readonly seq: bigint;
  readonly done: Uint8Array;
  /** For log lines. */
  readonly label: string;
  readonly onWritten: () => void;
};

type Waiting = { readonly answer: Answer; pauseMs: number; nextMs: number };

const WRITE_CAUSE = "done";

export class DoneOutbox {
  readonly #path: string;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #notices: NoticeLog;
  #waiting: Waiting | null = null;
  #placed: FileIdentity | null = null;

  constructor(path: string, tools: { readonly clock: Clock; readonly notices: NoticeLog }) {
    this.#path = path;
    this.#clock = tools.clock;
    this.#notices = tools.notices;
  }

  /** The answer that waits to be written. */
  waiting(): Answer | null {
    return this.#waiting?.answer ?? null;
  }

  /** The file as it was when the last record was put there; null where none was. */
  placed(): FileIdentity | null {
    return this.#placed;
  }

  /** Takes the answer, in place of one that still waits, and tries to write it at once. */
  post(answer: Answer): void {
    this.#waiting = { answer, pauseMs: RETRY_MS_MIN, nextMs: this.#clock.nowMs() };
    this.retry();
  }

  /** Tries again where it is time to. */
  retry(): void {
    if (this.#waiting !== null && this.#clock.nowMs() >= this.#waiting.nextMs) this.tryNow();
  }

  /** Tries now. False where an answer still waits. */
  tryNow(): boolean {
    const waiting = this.#waiting;
    if (waiting === null) return true;
    try {
      this.#placed = placeRecord(this.#path, waiting.answer.done);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      const text = `the done record cannot be written, and is tried again: ${error.message}`;
      this.#notices.tell(WRITE_CAUSE, `${waiting.answer.label}: ${text}`);
      waiting.nextMs = this.#clock.nowMs() + waiting.pauseMs;
      waiting.pauseMs = Math.min(RETRY_MS_MAX, 2 * waiting.pauseMs);
      return false;
    }
    this.#waiting = null;
    this.#notices.forget(WRITE_CAUSE);
    waiting.answer.onWritten();
    return true;
  }

  /** Lets go of what waits. */
  drop(): void {
    this.#waiting = null;
  }
}
