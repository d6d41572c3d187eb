/**
 * Which rungs are not climbed without being told to: one that took the host down before, so that a
 * service does not do it again at each start, and one whose earlier try still hangs.
 */
import { describeStep, type BringUpStep } from "./journal.ts";
import type { Interruption, IsAlive } from "./journal-report.ts";
import type { JobCause } from "./job.ts";

/** The name of the cause where a rung is held back. */
export const WEDGED_BEFORE = "wedged_before";

/** A rung that is held back. */
export type Wedge = {
  /** As it was numbered then. */
  readonly die: number;
  /** Where it is known: then it is the address that tells which die it is. */
  readonly address: string | null;
  readonly step: BringUpStep;
  /** `unread`: nobody knows, for the journal cannot be read; `step` is then the first rung. */
  readonly how: "host_reset" | "hung" | "unread";
  /** When it was begun, or found to hang: ISO 8601; null where no clock was given. */
  readonly time: string | null;
  /** The process that is stuck in it; null where there is none, or where it is not known. */
  readonly stepPid: number | null;
  /** When that process was started, in clock ticks since the machine was; left out: not known. */
  readonly stepStartTicks?: number;
};

/** The process that is stuck in a rung. */
export type StuckStep = { readonly pid: number; readonly startTicks?: number };

export type WedgesOptions = {
  readonly interruptions: readonly Interruption[];
  /** Why the journal cannot be read: every rung waits to be told. Null where it was read. */
  readonly unreadable?: string | null;
  /** What an operator is sent to; null where no journal is kept. */
  readonly journalPath: string | null;
  readonly isAlive: IsAlive;
  readonly now?: () => Date;
};

export class Wedges {
  readonly #options: WedgesOptions;
  #held: Wedge[] = [];
  /** Dies that were let go though the journal cannot be read; null: all were. */
  #trusted: Set<number> | null;

  constructor(options: WedgesOptions) {
    this.#options = options;
    this.#trusted = (options.unreadable ?? null) === null ? null : new Set();
    for (const { line, how } of options.interruptions) {
      if (how !== "host_reset" && how !== "hung") continue;
      const { die, address = null, step, time, stepPid = null, stepStartTicks = 0 } = line;
      this.#held.push({ die, address, step, how, time, stepPid, stepStartTicks });
    }
  }

  /** What is held back, in no order. */
  list(): readonly Wedge[] {
    return this.#held.filter((wedge) => this.#isHeld(wedge));
  }

  /** Why the rung is not climbed; null where it may be. */
  refusal(die: number, step: BringUpStep, address: string | null): JobCause | null {
    if (this.#trusted?.has(die) === false) {
      return { name: WEDGED_BEFORE, code: 0, call: step, message: this.#describeUnread(die) };
    }
    const wedge = this.list().find((each) => each.step === step && isOf(each, die, address));
    if (wedge === undefined) return null;
    const message = this.#describe({ ...wedge, die });
    return { name: WEDGED_BEFORE, code: 0, call: step, message };
  }

  /** The rung did not come back. */
  hold(die: number, step: BringUpStep, stuck: StuckStep | null): void {
    const time = this.#options.now?.().toISOString() ?? null;
    const { pid: stepPid = null, startTicks: stepStartTicks = 0 } = stuck ?? {};
    // Numbers hold as long as this owner does.
    const isIt = (each: Wedge): boolean => each.step === step && each.die === die;
    this.#held = this.#held.filter((each) => each.address !== null || !isIt(each));
    this.#held.push({ die, address: null, step, how: "hung", time, stepPid, stepStartTicks });
  }

  /**
   * Lets the die's rungs (null: those of all dies) be climbed again; returns what was held back.
   */
  allow(die: number | null, address: string | null): readonly Wedge[] {
    const freed = this.list().filter((wedge) => die === null || isOf(wedge, die, address));
    this.#held = this.#held.filter((wedge) => !freed.includes(wedge));
    return [...this.#trust(die, address), ...freed];
  }

  #trust(die: number | null, address: string | null): readonly Wedge[] {
    if (this.#trusted === null || (die !== null && this.#trusted.has(die))) return [];
    if (die === null) this.#trusted = null;
    else this.#trusted.add(die);
    const unread = { step: "discover", how: "unread", time: null, stepPid: null } as const;
    return [{ die: die ?? 0, address, ...unread }];
  }

  /** One that hung is free again once the process that is stuck in it has ended. */
  #isHeld({ how, stepPid, stepStartTicks }: Wedge): boolean {
    if (how === "host_reset" || stepPid === null) return true;
    return this.#options.isAlive(stepPid, stepStartTicks);
  }

  #describeUnread(die: number): string {
    return (
      `the bring-up journal cannot be read, and what it holds back is not known: ` +
      `${this.#options.unreadable ?? ""}; run as the user whose it is, or name another folder ` +
      `with --state-dir; ${retryText(die)} goes on without`
    );
  }

  #describe({ die, step, how, time, stepPid }: Wedge): string {
    const what = `die ${String(die)}: ${describeStep(step)} (${step})`;
    const { journalPath } = this.#options;
    const journal = journalPath === null ? "" : ` (journal ${journalPath})`;
    const retry = retryText(die);
    if (how === "host_reset") {
      return (
        `${what} was under way at ${String(time)} when the machine was reset${journal}; it is ` +
        `not done again by itself: 'holdfast doctor' says what to try, ${retry} tries it`
      );
    }
    const stuck = stepPid === null ? "" : ` in process ${String(stepPid)}`;
    const since = time === null ? "" : ` since ${time}`;
    return (
      `${what} has hung${stuck}${since}${journal}; a second try would hang as well: ` +
      `'holdfast doctor' says what to try, ${retry} tries it all the same`
    );
  }
}

const retryText = (die: number): string =>
  `'holdfast ladder --retry' or the prompt's 'retry ${String(die)}'`;

/** For owners without a journal: nothing is known of earlier climbs. */
export const noWedges = (): Wedges =>
  new Wedges({ interruptions: [], journalPath: null, isAlive: () => true });

const isOf = (wedge: Wedge, die: number, address: string | null): boolean =>
  wedge.address === null || address === null ? wedge.die === die : wedge.address === address;
