/**
 * Who may touch which die when. A lease on a die is the right to use its context; behind a window
 * only the die in it is leased, so a die with leases is busy and is never swapped out. Requests
 * wait in order of arrival and are granted in batches per die.
 *
 * With W the maximum wait, H the minimum hold, M the longest move, L the longest lease and D dies,
 * a request waits at most W + D * (M + H + L) + M: after W it is overdue, so that the die in the
 * window is given no lease beyond its hold any more, and then each other die goes first once at
 * most, since who has waited longest goes next. A die that came stays for H, so the window moves at
 * most once in H, and only for somebody who waits. A die whose moves fail is another matter: see
 * `#next`.
 */
import { invariant, ok, type EventClock, type Result } from "../base/mod.ts";
import { isHeldBack, type OwnerRefusal, type WindowState } from "./reports.ts";
import { SwapLog } from "./swap-times.ts";

/** How long the parts of one move took. */
export type MoveTimes = {
  /** The board's own step. */
  readonly boardMs: number;
  /** Until the die host knew of it; 0 where none runs. */
  readonly noticeMs: number;
};

/** A move that was made: its parts, and all of it, with the journal's line before it. */
export type Move = MoveTimes & { readonly wholeMs: number };

export type Lease = {
  readonly die: number;
  /** The move that was made for this lease's batch; null where none was. */
  readonly move: Move | null;
  /** False once the window was lost: nothing may be done with the die any more. */
  readonly isValid: () => boolean;
  /** Gives the die back; exactly once. */
  readonly release: () => void;
};

export type WindowPolicy = {
  /**
   * A die that came into the window stays for this long, idle or not, so that a burst for it is not
   * cut up by swaps.
   */
  readonly minimumHoldMs: number;
  /**
   * Once a request for another die has waited this long, the die in the window is given no further
   * lease after its hold: those that it has run out, and the window moves.
   */
  readonly maximumWaitMs: number;
};

/** A swap costs milliseconds, so a hold of the same order bounds the loss to a half. */
export const DEFAULT_WINDOW_POLICY: WindowPolicy = { minimumHoldMs: 5, maximumWaitMs: 1000 };

export type Window = {
  /**
   * Waits for a turn. Who holds a lease must not ask for another one on any die before it has given
   * that back: it would wait for itself.
   */
  readonly lease: (die: number) => Promise<Result<Lease, OwnerRefusal>>;
  /** A lease now, at nobody's expense: null where it would take a move, or others have waited. */
  readonly tryLease: (die: number) => Lease | null;
  readonly isBusy: (die: number) => boolean;
  /** True where the die can be touched without a move. */
  readonly isMapped: (die: number) => boolean;
  /** How many requests wait for the die. */
  readonly waitingFor: (die: number) => number;
  readonly state: () => WindowState;
  readonly swapLog: SwapLog;
  /** It shows no die any more, by no doing of ours: the next lease moves it first. */
  readonly forget: () => void;
  /** Refuses who waits, and who comes from now on. Leases that are out stay out. */
  readonly close: (refusal: Result<never, OwnerRefusal>) => void;
};

/** Where every die is mapped: each request is granted at once, and only counted. */
export function createOpenWindow(): Window {
  const leases = new Map<number, number>();
  let closed: Result<never, OwnerRefusal> | null = null;
  const change = (die: number, by: number): void => {
    leases.set(die, (leases.get(die) ?? 0) + by);
  };
  const tryLease = (die: number): Lease | null => {
    if (closed !== null) return null;
    change(die, 1);
    return createLease({ die, move: null, isValid: () => true }, () => change(die, -1));
  };
  return {
    tryLease,
    lease: (die) => {
      const lease = tryLease(die);
      return Promise.resolve(lease === null ? (closed as Result<never, OwnerRefusal>) : ok(lease));
    },
    isBusy: (die) => (leases.get(die) ?? 0) > 0,
    isMapped: () => true,
    waitingFor: () => 0,
    state: () => ({
      ...{ occupant: null, isMoving: false, waiting: 0, longestWaitMs: 0 },
      leases: [...leases.values()].reduce((sum, count) => sum + count, 0),
      heldMs: 0,
      failedMoves: 0,
    }),
    swapLog: new SwapLog(),
    forget: () => undefined,
    close: (refusal) => void (closed = refusal),
  };
}

function createLease(granted: Omit<Lease, "release">, onRelease: () => void): Lease {
  let released = false;
  return {
    ...granted,
    release: () => {
      invariant(!released, `the lease on die ${String(granted.die)} was given back before`);
      released = true;
      onRelease();
    },
  };
}

export type SingleWindowOptions = {
  /** Moves the window; never called while a lease is out. A failure leaves the window free. */
  readonly move: (die: number) => Promise<Result<MoveTimes, OwnerRefusal>>;
  readonly policy: WindowPolicy;
  readonly clock: EventClock;
};

/** One window over several dies. */
export function createSingleWindow(options: SingleWindowOptions): Window {
  return new SingleWindow(options);
}

type Waiting = {
  readonly die: number;
  readonly sinceMs: number;
  readonly resolve: (result: Result<Lease, OwnerRefusal>) => void;
};

/** A die whose last moves failed: others keep the window for a while before it is tried again. */
type Failing = { readonly pauseMs: number; readonly untilMs: number };

class SingleWindow implements Window {
  readonly swapLog = new SwapLog();
  readonly #options: SingleWindowOptions;
  readonly #failing = new Map<number, Failing>();
  /** Oldest first. */
  #waiting: Waiting[] = [];
  #occupant: number | null = null;
  #leases = 0;
  /** How often the window was lost: a lease, or a move, of before is void. */
  #epoch = 0;
  #failedMoves = 0;
  #heldSinceMs = 0;
  #isMoving = false;
  #closed: Result<never, OwnerRefusal> | null = null;
  /** The look that is planned, and how to call it off; null where none is. */
  #planned: { readonly atMs: number; readonly cancel: () => void } | null = null;

  constructor(options: SingleWindowOptions) {
    this.#options = options;
  }

  readonly lease = (die: number): Promise<Result<Lease, OwnerRefusal>> =>
    new Promise((resolve) => {
      if (this.#closed !== null) {
        resolve(this.#closed);
        return;
      }
      this.#waiting.push({ die, sinceMs: this.#options.clock.nowMs(), resolve });
      this.#pump();
    });

  readonly tryLease = (die: number): Lease | null => {
    const isFree = this.#closed === null && this.isMapped(die);
    if (!isFree || this.#mustYield(this.#options.clock.nowMs())) return null;
    return this.#grant(die, null);
  };

  readonly isBusy = (die: number): boolean => this.#occupant === die && this.#leases > 0;
  readonly isMapped = (die: number): boolean => !this.#isMoving && this.#occupant === die;

  readonly waitingFor = (die: number): number =>
    this.#waiting.filter((waiting) => waiting.die === die).length;

  readonly state = (): WindowState => {
    const now = this.#options.clock.nowMs();
    const [oldest] = this.#waiting;
    return {
      occupant: this.#occupant,
      isMoving: this.#isMoving,
      leases: this.#leases,
      waiting: this.#waiting.length,
      longestWaitMs: oldest === undefined ? 0 : now - oldest.sinceMs,
      heldMs: this.#occupant === null ? 0 : now - this.#heldSinceMs,
      failedMoves: this.#failedMoves,
    };
  };

  readonly forget = (): void => {
    this.#epoch += 1;
    this.#occupant = null;
  };

  readonly close = (refusal: Result<never, OwnerRefusal>): void => {
    this.#closed = refusal;
    this.#planned?.cancel();
    this.#planned = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve } of waiting) resolve(refusal);
  };

  /** Grants what can be granted; else, with the window idle, moves it or waits out the hold. */
  #pump(): void {
    if (this.#isMoving || this.#closed !== null) return;
    const now = this.#options.clock.nowMs();
    if (!this.#mustYield(now)) this.#grantWaiting(null);
    if (this.#leases > 0) return;
    const next = this.#next(now);
    const holdMs = this.#holdMs(now);
    if (next !== null && holdMs <= 0) void this.#moveTo(next.die);
    else if (this.#waiting.length > 0) this.#plan(next === null ? this.#pauseMs(now) : holdMs);
  }

  /** How long the occupant may still stay, however long others wait. */
  #holdMs(now: number): number {
    if (this.#occupant === null) return 0;
    return this.#heldSinceMs + this.#options.policy.minimumHoldMs - now;
  }

  /** True where the occupant has had its hold and somebody has waited too long for another die. */
  #mustYield(now: number): boolean {
    const next = this.#next(now);
    if (next === null || this.#holdMs(now) > 0) return false;
    return now - next.sinceMs >= this.#options.policy.maximumWaitMs;
  }

  /**
   * Who has waited longest for another die. One whose moves fail waits out its pause first, unless
   * nobody else has any use for the window: each try takes it from the die that is in it.
   */
  #next(now: number): Waiting | null {
    const others = this.#waiting.filter(({ die }) => die !== this.#occupant);
    const next = others.find(({ die }) => (this.#failing.get(die)?.untilMs ?? 0) <= now);
    return next ?? (this.#occupant === null ? (others[0] ?? null) : null);
  }

  /** Until the first pause of a die that somebody waits for ends. */
  #pauseMs(now: number): number {
    const ends = this.#waiting.map(({ die }) => this.#failing.get(die)?.untilMs ?? now);
    return Math.min(...ends) - now;
  }

  #grantWaiting(move: Move | null): void {
    const granted = this.#waiting.filter((waiting) => waiting.die === this.#occupant);
    this.#waiting = this.#waiting.filter((waiting) => waiting.die !== this.#occupant);
    for (const { die, resolve } of granted) resolve(ok(this.#grant(die, move)));
  }

  #grant(die: number, move: Move | null): Lease {
    this.#leases += 1;
    const epoch = this.#epoch;
    return createLease({ die, move, isValid: () => this.#epoch === epoch }, () => {
      this.#leases -= 1;
      this.#pump();
    });
  }

  async #moveTo(die: number): Promise<void> {
    invariant(this.#leases === 0, "a busy die is never swapped out");
    const { move, clock } = this.#options;
    const startMs = clock.nowMs();
    const [epoch, before] = [this.#epoch, this.#occupant];
    this.#isMoving = true;
    this.#occupant = null;
    const moved = await move(die);
    this.#isMoving = false;
    // What was lost as it moved shows nothing that is known: who waits has it moved once more.
    if (moved.ok && this.#epoch === epoch) {
      this.#occupant = die;
      this.#heldSinceMs = clock.nowMs();
      const wholeMs = this.#heldSinceMs - startMs;
      this.swapLog.add(wholeMs, this.#heldSinceMs);
      this.#failing.delete(die);
      this.#grantWaiting({ ...moved.value, wholeMs });
    } else if (!moved.ok) {
      // The slot was not touched, and has whom it had, unless that was lost meanwhile.
      if (isHeldBack(moved.error) && this.#epoch === epoch) this.#occupant = before;
      this.#failedMoves += 1;
      this.#pause(die);
      const failed = this.#waiting.filter((waiting) => waiting.die === die);
      this.#waiting = this.#waiting.filter((waiting) => waiting.die !== die);
      for (const waiting of failed) waiting.resolve(moved);
    }
    this.#pump();
  }

  /** Each failure in a row doubles the pause, up to what everybody else waits at most. */
  #pause(die: number): void {
    const { minimumHoldMs, maximumWaitMs } = this.#options.policy;
    const before = this.#failing.get(die)?.pauseMs ?? 0;
    const pauseMs = Math.min(maximumWaitMs, Math.max(1, minimumHoldMs, 2 * before));
    this.#failing.set(die, { pauseMs, untilMs: this.#options.clock.nowMs() + pauseMs });
  }

  #plan(ms: number): void {
    const { clock } = this.#options;
    const atMs = clock.nowMs() + ms;
    if (this.#planned !== null && this.#planned.atMs <= atMs) return;
    this.#planned?.cancel();
    const cancel = clock.after(ms, () => {
      this.#planned = null;
      this.#pump();
    });
    this.#planned = { atMs, cancel };
  }
}
