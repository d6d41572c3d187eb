/**
 * How far the owner has stopped: what it still takes, what of it is under way, and when that has
 * ended. Every operation comes through here; every touch of a die is counted here.
 */
import { err, type EventClock, type Log, type Result } from "../base/mod.ts";
import type { DrainReport, OwnerMode, OwnerRefusal, OwnerRefusalCode } from "./reports.ts";
import type { Lease } from "./window.ts";

const refuse = (code: OwnerRefusalCode, message: string): Result<never, OwnerRefusal> =>
  err({ code, message });

const LEAVING = refuse("leaving", "the owner is leaving");
const DRAINING = refuse("draining", "the owner takes no further work; 'resume' lifts that");
const PARKED = refuse("parked", "the owner is parked and touches no die; 'resume' lifts that");

/** A drain under way. */
type Round = {
  readonly startMs: number;
  /** When it was over; null until then. */
  endedMs: number | null;
  endedOk: number;
  endedBadly: number;
  /** Settles when all has ended, or the owner was told to go on. */
  readonly over: Promise<void>;
  readonly end: () => void;
};

export class StopGate {
  readonly #clock: EventClock;
  readonly #log: Log;
  /** What was accepted and has not ended, by what it is called. */
  readonly #accepted = new Set<{ readonly name: string }>();
  #mode: OwnerMode = "serving";
  #isLeaving = false;
  /** Set before `parked` is: the dies are let go of, and none is touched anew. */
  #isParking = false;
  #touches = 0;
  #round: Round | null = null;
  #onUntouched: (() => void)[] = [];

  constructor({ clock, log }: { readonly clock: EventClock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  get mode(): OwnerMode {
    return this.#mode;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Why no further work is taken; null where it is. */
  workRefusal(): Result<never, OwnerRefusal> | null {
    const refused = this.touchRefusal();
    return refused ?? (this.#mode === "serving" ? null : DRAINING);
  }

  /** Why no die may be touched, by a probe neither; null where dies may. */
  touchRefusal(): Result<never, OwnerRefusal> | null {
    if (this.#isLeaving) return LEAVING;
    return this.#isParking ? PARKED : null;
  }

  /** Counts something that was accepted until it ends; a drain waits for it. Returns it. */
  track<T>(name: string, task: Promise<T>, isWell: (value: T) => boolean): Promise<T> {
    const accepted = { name };
    this.#accepted.add(accepted);
    const settle = (how: "well" | "badly"): void => {
      this.#accepted.delete(accepted);
      this.#tell(name, how);
      if (this.#accepted.size === 0) this.#settleDrain();
    };
    return task.then(
      (value) => {
        settle(isWell(value) ? "well" : "badly");
        return value;
      },
      (error: unknown) => {
        settle("badly");
        throw error;
      },
    );
  }

  /** Counts a lease, or the wait for one, as a touch until it is given back or refused. */
  async touch(
    ask: () => Promise<Result<Lease, OwnerRefusal>>,
  ): Promise<Result<Lease, OwnerRefusal>> {
    const refused = this.touchRefusal();
    if (refused !== null) return refused;
    this.#touches += 1;
    const lease = await ask();
    if (lease.ok) return { ok: true, value: this.#counted(lease.value) };
    this.#letGo();
    return lease;
  }

  /** Counts something that may touch dies, e.g. ask their bus, until it has ended. */
  async during<T>(touching: Promise<T>): Promise<T> {
    this.#touches += 1;
    try {
      return await touching;
    } finally {
      this.#letGo();
    }
  }

  /** The same for a lease that is there at once, or is not. */
  touchNow(ask: () => Lease | null): Lease | null {
    const lease = this.touchRefusal() === null ? ask() : null;
    if (lease === null) return null;
    this.#touches += 1;
    return this.#counted(lease);
  }

  /**
   * Takes no further work, and waits until what was accepted has ended, or for `timeoutMs`. Called
   * again it waits for the same end.
   */
  async drain(timeoutMs: number | null): Promise<DrainReport> {
    if (this.#mode === "serving") {
      this.#mode = "draining";
      this.#round = openRound(this.#clock.nowMs());
      const names = [...this.#accepted].map(({ name }) => name);
      const what = names.length === 0 ? "nothing is under way" : `to end: ${names.join(", ")}`;
      this.#log(`drain: no further work is taken; ${what}`);
      if (names.length === 0) this.#settleDrain();
    }
    const round = this.#round;
    if (round === null) return this.#report(null);
    await untilOver(round.over, timeoutMs, this.#clock);
    return this.#report(round);
  }

  /** Drains; then waits until nothing touches a die, and lets nothing touch one any more. */
  async park(): Promise<DrainReport> {
    const drained = await this.drain(null);
    if (this.#mode === "drained") {
      this.#isParking = true;
      if (this.#touches > 0) await new Promise<void>((done) => this.#onUntouched.push(done));
      this.#settlePark();
    }
    return { ...drained, mode: this.#mode };
  }

  /** Takes work again, from whatever level. */
  resume(): void {
    this.#mode = "serving";
    this.#isParking = false;
    this.#round?.end();
    this.#round = null;
  }

  /** For good. */
  leave(): void {
    this.#isLeaving = true;
  }

  #tell(name: string, how: "well" | "badly"): void {
    const round = this.#round;
    // Whoever leaves cuts off what is under way: that is no news, and its log is at its end.
    if (round === null || this.#mode !== "draining" || this.#isLeaving) return;
    if (how === "well") round.endedOk += 1;
    else round.endedBadly += 1;
    this.#log(`drain: ${name} ended ${how}`);
  }

  #settleDrain(): void {
    if (this.#mode !== "draining") return;
    this.#mode = "drained";
    if (this.#round !== null) this.#round.endedMs = this.#clock.nowMs();
    this.#round?.end();
  }

  /** Told to go on in the meantime, it does not stop after all. */
  #settlePark(): void {
    if (this.#isParking) this.#mode = "parked";
  }

  #report(round: Round | null): DrainReport {
    return {
      mode: this.#mode,
      endedOk: round?.endedOk ?? 0,
      endedBadly: round?.endedBadly ?? 0,
      left: [...this.#accepted].map(({ name }) => name),
      elapsedMs: round === null ? 0 : (round.endedMs ?? this.#clock.nowMs()) - round.startMs,
    };
  }

  #counted(lease: Lease): Lease {
    const release = (): void => {
      lease.release();
      this.#letGo();
    };
    return { ...lease, release };
  }

  #letGo(): void {
    this.#touches -= 1;
    if (this.#touches > 0) return;
    const waiting = this.#onUntouched;
    this.#onUntouched = [];
    for (const done of waiting) done();
  }
}

function openRound(startMs: number): Round {
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (end = resolve));
  return { startMs, endedMs: null, endedOk: 0, endedBadly: 0, over, end };
}

async function untilOver(
  over: Promise<void>,
  timeoutMs: number | null,
  clock: EventClock,
): Promise<void> {
  if (timeoutMs === null) return over;
  let callOff: () => void = () => undefined;
  const late = new Promise<void>((resolve) => (callOff = clock.after(timeoutMs, resolve)));
  await Promise.race([over, late]);
  callOff();
}
