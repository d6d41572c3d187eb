/**
 * Who may touch which die when. A lease on a die is the right to use its context; behind a window only
 * the die in it is leased, so a die with leases is busy and is never swapped out. Requests wait in
 * order of arrival and are granted in batches per die.
 */
import { invariant, ok, type Clock, type Result } from "../base/mod.ts";
import type { OwnerRefusal } from "./reports.ts";

export type Lease = {
  readonly die: number;
  /** True where the window was moved for this lease's batch. */
  readonly moved: boolean;
  /** Gives the die back; exactly once. */
  readonly release: () => void;
};

export type WindowPolicy = {
  /** An idle die keeps the window this long, so that a burst for it is not cut up by swaps. */
  readonly minimumHoldMs: number;
  /** A request that has waited this long goes before newer ones for the die in the window. */
  readonly maximumWaitMs: number;
};

/** A swap costs milliseconds, so a hold of the same order bounds the loss to a half. */
export const DEFAULT_WINDOW_POLICY: WindowPolicy = { minimumHoldMs: 5, maximumWaitMs: 1000 };

export type Window = {
  readonly lease: (die: number) => Promise<Result<Lease, OwnerRefusal>>;
  readonly occupant: () => number | null;
  readonly isBusy: (die: number) => boolean;
  /** How many times the window was moved. */
  readonly swaps: () => number;
};

type Waiting = {
  readonly die: number;
  readonly sinceMs: number;
  readonly resolve: (result: Result<Lease, OwnerRefusal>) => void;
};

/** Where every die is mapped: each request is granted at once, and only counted. */
export function createOpenWindow(): Window {
  const leases = new Map<number, number>();
  const change = (die: number, by: number): void => {
    leases.set(die, (leases.get(die) ?? 0) + by);
  };
  return {
    lease: (die) => {
      change(die, 1);
      return Promise.resolve(ok(createLease(die, false, () => change(die, -1))));
    },
    occupant: () => null,
    isBusy: (die) => (leases.get(die) ?? 0) > 0,
    swaps: () => 0,
  };
}

function createLease(die: number, moved: boolean, onRelease: () => void): Lease {
  let released = false;
  return {
    die,
    moved,
    release: () => {
      invariant(!released, `the lease on die ${String(die)} was given back before`);
      released = true;
      onRelease();
    },
  };
}

/** One window over several dies. `move` moves it; it is never called while a lease is out. */
export function createSingleWindow(options: {
  readonly move: (die: number) => Promise<Result<void, OwnerRefusal>>;
  readonly policy: WindowPolicy;
  readonly clock: Clock;
}): Window {
  return new SingleWindow(options);
}

class SingleWindow implements Window {
  readonly #move: (die: number) => Promise<Result<void, OwnerRefusal>>;
  readonly #policy: WindowPolicy;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #occupant: number | null = null;
  #leases = 0;
  #swaps = 0;
  #heldSinceMs = 0;
  #isMoving = false;
  #isTimerSet = false;

  constructor(options: {
    readonly move: (die: number) => Promise<Result<void, OwnerRefusal>>;
    readonly policy: WindowPolicy;
    readonly clock: Clock;
  }) {
    this.#move = options.move;
    this.#policy = options.policy;
    this.#clock = options.clock;
  }

  readonly lease = (die: number): Promise<Result<Lease, OwnerRefusal>> =>
    new Promise((resolve) => {
      this.#waiting.push({ die, sinceMs: this.#clock.nowMs(), resolve });
      this.#pump();
    });

  readonly occupant = (): number | null => this.#occupant;
  readonly isBusy = (die: number): boolean => this.#occupant === die && this.#leases > 0;
  readonly swaps = (): number => this.#swaps;

  /** Grants what can be granted; else, with the window idle, moves it or waits out the hold. */
  #pump(): void {
    if (this.#isMoving) return;
    const now = this.#clock.nowMs();
    const other = this.#waiting.find((waiting) => waiting.die !== this.#occupant);
    const isOverdue = other !== undefined && now - other.sinceMs >= this.#policy.maximumWaitMs;
    if (!isOverdue) this.#grant(false);
    if (other === undefined || this.#leases > 0) return;
    const holdMs = this.#heldSinceMs + this.#policy.minimumHoldMs - now;
    if (this.#occupant === null || isOverdue || holdMs <= 0) void this.#moveTo(other.die);
    else this.#pumpAfter(holdMs);
  }

  #grant(moved: boolean): void {
    const granted = this.#waiting.filter((waiting) => waiting.die === this.#occupant);
    this.#waiting = this.#waiting.filter((waiting) => waiting.die !== this.#occupant);
    for (const waiting of granted) {
      this.#leases += 1;
      const lease = createLease(waiting.die, moved, () => {
        this.#leases -= 1;
        this.#pump();
      });
      waiting.resolve(ok(lease));
    }
  }

  async #moveTo(die: number): Promise<void> {
    invariant(this.#leases === 0, "a busy die is never swapped out");
    this.#isMoving = true;
    this.#occupant = null;
    const moved = await this.#move(die);
    this.#isMoving = false;
    if (moved.ok) {
      this.#occupant = die;
      this.#swaps += 1;
      this.#heldSinceMs = this.#clock.nowMs();
      this.#grant(true);
    } else {
      const failed = this.#waiting.filter((waiting) => waiting.die === die);
      this.#waiting = this.#waiting.filter((waiting) => waiting.die !== die);
      for (const waiting of failed) waiting.resolve(moved);
    }
    this.#pump();
  }

  #pumpAfter(ms: number): void {
    if (this.#isTimerSet) return;
    this.#isTimerSet = true;
    void this.#clock.sleep(ms).then(() => {
      this.#isTimerSet = false;
      this.#pump();
    });
  }
}
