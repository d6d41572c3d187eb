/**
 * Lines about what producers do wrong: one a distinct cause, however often it is seen, and never so
 * many that they bury everything else. Takes bounded memory whatever it is fed.
 */
import type { Clock, Log } from "../base/mod.ts";

/** Causes that are remembered. A producer that alternates between more of them is told of again. */
export const CAUSES_MAX = 64;

/** Lines in one go before lines are held back. */
export const BURST_LINES_MAX = 64;

/** Lines a second that go on after a burst. */
export const LINES_PER_SECOND = 8;

export class NoticeLog {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "nowMs">;
  /** In the order in which they were seen last. */
  readonly #causes = new Set<string>();
  #credit = BURST_LINES_MAX;
  #creditAtMs: number;
  #heldBack = 0;

  constructor(log: Log, clock: Pick<Clock, "nowMs">) {
    this.#log = log;
    this.#clock = clock;
    this.#creditAtMs = clock.nowMs();
  }

  /** Logs the text, unless the cause was told of before. */
  tell(cause: string, text: string): void {
    const isKnown = this.#causes.delete(cause);
    this.#causes.add(cause);
    if (isKnown) return;
    for (const oldest of this.#causes) {
      if (this.#causes.size <= CAUSES_MAX) break;
      this.#causes.delete(oldest);
    }
    this.line(text);
  }

  /** The cause is over; it is told of again when it comes back. */
  forget(cause: string): void {
    this.#causes.delete(cause);
  }

  /** Logs the text as soon as the rate allows; how many were held back is told with the next. */
  line(text: string): void {
    const nowMs = this.#clock.nowMs();
    const earned = ((nowMs - this.#creditAtMs) / 1000) * LINES_PER_SECOND;
    this.#credit = Math.min(BURST_LINES_MAX, this.#credit + Math.max(0, earned));
    this.#creditAtMs = nowMs;
    if (this.#credit < 1) {
      this.#heldBack += 1;
      return;
    }
    this.#credit -= 1;
    const note =
      this.#heldBack === 0 ? "" : ` (lines held back before this: ${String(this.#heldBack)})`;
    this.#heldBack = 0;
    this.#log(text + note);
  }
}
