/** The bring-up journal of a simulated machine: in memory, and kept over the ends of its owners. */
import { ok, type EventClock } from "../base/mod.ts";
import type { BringUpStep, Journal, JournalEntry, JournalLine } from "../owner/mod.ts";

export class SimJournal {
  readonly #clock: EventClock;
  readonly #lines: JournalLine[] = [];
  /** By die: the rungs of the present owner that were begun and have not ended, latest last. */
  #open = new Map<number, BringUpStep[]>();
  onLine: (line: JournalLine) => void = () => undefined;

  constructor(clock: EventClock) {
    this.#clock = clock;
  }

  /** As a disk would hold it. */
  text(): string {
    return this.#lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }

  /** The journal of an owner that starts now. */
  openFor(pid: number, boot: string): Journal {
    this.#open = new Map();
    const open = this.#open;
    return {
      write: (entry) => {
        const time = new Date(this.#clock.nowMs()).toISOString();
        const line = { time, pid, boot, ...entry };
        this.#lines.push(line);
        note(open, entry);
        this.onLine(line);
        return ok(undefined);
      },
    };
  }

  /** Whether one of these rungs of the die was begun, and has not ended. */
  isOpen(die: number, steps: readonly BringUpStep[]): boolean {
    return (this.#open.get(die) ?? []).some((step) => steps.includes(step));
  }

  /** The die whose rung of that name was begun last and has not ended; null where there is none. */
  lastOpen(step: BringUpStep): number | null {
    let found: number | null = null;
    for (const [die, steps] of this.#open) if (steps.includes(step)) found = die;
    return found;
  }
}

function note(open: Map<number, BringUpStep[]>, { die, step, phase }: JournalEntry): void {
  const steps = open.get(die) ?? [];
  // What is noted last comes last.
  open.delete(die);
  if (phase === "begin") open.set(die, [...steps, step]);
  else
    open.set(
      die,
      steps.filter((other) => other !== step),
    );
}
