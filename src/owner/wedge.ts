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
  readonly die: number;
  readonly step: BringUpStep;
  readonly how: "host_reset" | "hung";
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
  /** What an operator is sent to; null where no journal is kept. */
  readonly journalPath: string | null;
  readonly isAlive: IsAlive;
  readonly now?: () => Date;
};

export class Wedges {
  readonly #options: WedgesOptions;
  readonly #held = new Map<string, Wedge>();

  constructor(options: WedgesOptions) {
    this.#options = options;
    for (const { line, how } of options.interruptions) {
      if (how !== "host_reset" && how !== "hung") continue;
      const { die, step, time, stepPid = null, stepStartTicks = 0 } = line;
      this.#held.set(keyOf(die, step), { die, step, how, time, stepPid, stepStartTicks });
    }
  }

  /** What is held back, in no order. */
  list(): readonly Wedge[] {
    return [...this.#held.values()].filter((wedge) => this.#isHeld(wedge));
  }

  /** Why the rung is not climbed; null where it may be. */
  refusal(die: number, step: BringUpStep): JobCause | null {
    const wedge = this.#held.get(keyOf(die, step));
    if (wedge === undefined || !this.#isHeld(wedge)) return null;
    return { name: WEDGED_BEFORE, code: 0, call: step, message: this.#describe(wedge) };
  }

  /** The rung did not come back. */
  hold(die: number, step: BringUpStep, stuck: StuckStep | null): void {
    const time = this.#options.now?.().toISOString() ?? null;
    const { pid: stepPid = null, startTicks: stepStartTicks = 0 } = stuck ?? {};
    this.#held.set(keyOf(die, step), { die, step, how: "hung", time, stepPid, stepStartTicks });
  }

  /**
   * Lets the die's rungs (null: those of all dies) be climbed again; returns what was held back.
   */
  allow(die: number | null): readonly Wedge[] {
    const freed = this.list().filter((wedge) => die === null || wedge.die === die);
    for (const wedge of freed) this.#held.delete(keyOf(wedge.die, wedge.step));
    return freed;
  }

  /** One that hung is free again once the process that is stuck in it has ended. */
  #isHeld({ how, stepPid, stepStartTicks }: Wedge): boolean {
    if (how === "host_reset" || stepPid === null) return true;
    return this.#options.isAlive(stepPid, stepStartTicks);
  }

  #describe({ die, step, how, time, stepPid }: Wedge): string {
    const what = `die ${String(die)}: ${describeStep(step)} (${step})`;
    const { journalPath } = this.#options;
    const journal = journalPath === null ? "" : ` (journal ${journalPath})`;
    const retry = `'holdfast ladder --retry' or the prompt's 'retry ${String(die)}'`;
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

/** For owners without a journal: nothing is known of earlier climbs. */
export const noWedges = (): Wedges =>
  new Wedges({ interruptions: [], journalPath: null, isAlive: () => true });

const keyOf = (die: number, step: BringUpStep): string => `${String(die)} ${step}`;
