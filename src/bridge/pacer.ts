/**
 * How long the loop rests between polls: hardly at all while jobs come, ever longer while none do.
 */

/** How long after the last activity there is no pause: a producer in a loop posts within this. */
export const SPIN_MS = 0.2;

/** How long after the last activity polls stay close together. */
export const BUSY_MS = 30;

/** Pause while busy. The kernel's timer slack makes it about 0.1 ms (measured). */
export const BUSY_PAUSE_MS = 0.05;

/**
 * Longest pause, unless there are many mailboxes. A wake and a look from rest were measured to cost
 * 0.2 to 0.4 ms in a virtual machine: 0.8 to 1.6 % of a core at this pause.
 */
export const IDLE_PAUSE_MS_MAX = 25;

/** With many, this long a mailbox: a look takes some 10 us, and all looks at most 2 % of a core. */
const IDLE_PAUSE_MS_PER_MAILBOX = 0.5;

/** Between the two, a pause is this share of the time without activity: some percent late. */
const IDLE_SHARE = 1 / 16;

/** Timers resolve no shorter time than this; what is shorter blocks the thread. */
const TIMER_MS_MIN = 1;

/** Means of waiting, so that tests need not. */
export type PacerTimers = {
  readonly nowMs: () => number;
  /** Blocks this thread. */
  readonly nap: (ms: number) => void;
  /** Calls back after that time, unless the returned function was called before. */
  readonly after: (ms: number, callback: () => void) => () => void;
  /** One turn of the event loop. */
  readonly turn: () => Promise<void>;
  /** Called before a rest that leaves the thread: what may end it early can be made ready. */
  readonly onRest: () => void;
};

const NAP_WORD = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread for as long, or a little longer. */
export const napOnThread = (ms: number): void => void Atomics.wait(NAP_WORD, 0, 0, ms);

/** The pause after that long without activity in any mailbox. */
export function pauseAfter(idleMs: number, mailboxes: number): number {
  if (idleMs >= 0 && idleMs < SPIN_MS) return 0;
  if (idleMs < BUSY_MS) return BUSY_PAUSE_MS;
  const longestMs = Math.max(IDLE_PAUSE_MS_MAX, mailboxes * IDLE_PAUSE_MS_PER_MAILBOX);
  return Math.min(longestMs, idleMs * IDLE_SHARE);
}

export type PacerOptions = {
  /** Fixes the pause; null lets it follow the activity. */
  readonly pollUs: number | null;
  /** How many are looked at between two pauses. */
  readonly mailboxes: number;
};

export class Pacer {
  readonly #timers: PacerTimers;
  readonly #fixedMs: number | null;
  readonly #mailboxes: number;
  #activeMs: number;
  #wake: () => void = () => undefined;

  constructor({ pollUs, mailboxes }: PacerOptions, timers: PacerTimers) {
    this.#timers = timers;
    this.#mailboxes = mailboxes;
    this.#fixedMs = pollUs === null ? null : pollUs / 1000;
    this.#activeMs = timers.nowMs();
  }

  /** Something happened: the next pauses are short, and one that is under way ends. */
  active(): void {
    this.#activeMs = this.#timers.nowMs();
    this.#wake();
  }

  /** Rests until the next poll is due. Always gives the event loop its turn. */
  async pause(): Promise<void> {
    const idleMs = this.#timers.nowMs() - this.#activeMs;
    const pauseMs = this.#fixedMs ?? pauseAfter(idleMs, this.#mailboxes);
    if (pauseMs < TIMER_MS_MIN) {
      // What was begun goes out before this thread blocks, and what came is taken in after.
      await this.#timers.turn();
      if (pauseMs > 0) this.#timers.nap(pauseMs);
      await this.#timers.turn();
      return;
    }
    this.#timers.onRest();
    const over = this.woken();
    const cancel = this.#timers.after(pauseMs, this.#wake);
    await over;
    cancel();
  }

  /** Resolves with the next activity. One at a time waits for it. */
  woken(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}
