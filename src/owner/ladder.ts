/**
 * The ladder as a whole: every die of the machine brought up, one after the other, made to work,
 * and read; then the window moved back and forth over all of them with their results intact. What
 * an earlier run has done is found as it is, and not done again.
 */
import { err, ok, type Result } from "../base/mod.ts";
import { rung, type RungPace } from "./bring-up-rung.ts";
import type { DieTable } from "./die-table.ts";
import type { HostFailure } from "./frames.ts";
import { BRING_UP_STEPS, type BringUpStep } from "./journal.ts";
import type {
  Discovery,
  LadderOptions,
  LadderReport,
  LadderRow,
  Owner,
  OwnerRefusal,
  ReadReport,
  RungReport,
} from "./reports.ts";

/** Each die gets a pattern of its own, so that a result in the wrong place is seen. */
const SEED = 0x5eed;

/** Additions of the work kernel: more than one, and no long work: a rung shows that it is done. */
const ITERS = 64;

/** Times over all dies: there, and back again. */
const SWAP_ROUNDS = 2;

type Operations = Pick<Owner, "discover" | "online" | "work" | "read" | "swap">;

/** Preconditions: no other ladder is being climbed. */
export async function climbLadder(
  table: DieTable,
  owner: Operations,
  options: LadderOptions,
): Promise<LadderReport> {
  const climber = new Climber(table, owner, options);
  table.pace = climber;
  try {
    return await climber.climb();
  } finally {
    table.pace = null;
  }
}

class Climber implements RungPace {
  readonly #table: DieTable;
  readonly #owner: Operations;
  readonly #options: LadderOptions;
  readonly #rows: LadderRow[] = [];
  #isStopped = false;
  /** The window's own rungs are told as part of what asks for them. */
  #isSwapping = false;
  #firstDie: number | null = null;

  constructor(table: DieTable, owner: Operations, options: LadderOptions) {
    this.#table = table;
    this.#owner = owner;
    this.#options = options;
  }

  /** On the first die nothing is unblocked and bound by itself: loading the driver does both. */
  readonly mayTake = (die: number, step: BringUpStep): boolean => {
    const { until } = this.#options;
    const isLater = (until === "bind" || until === "unblock") && die === this.#firstDie;
    const isBeyond = until !== null && !isLater && heightOf(step) > heightOf(until);
    if (isBeyond) this.#isStopped = true;
    return !this.#isStopped;
  };

  readonly before = async (): Promise<void> => {
    const { pauseMs } = this.#options;
    if (pauseMs > 0) await this.#table.options.clock.sleep(pauseMs);
  };

  readonly after = (report: RungReport): void => {
    const { die, step, outcome } = report;
    const isDone = outcome === "done" || outcome === "skipped";
    const { until, onRow } = this.#options;
    if (isDone && step === until && until !== "swap") this.#isStopped = true;
    if (isDone && step === "acquire" && this.#isSwapping) return;
    const row = { ...report, address: this.#table.tools.addressOf(die) };
    this.#rows.push(row);
    onRow?.(row);
  };

  async climb(): Promise<LadderReport> {
    const dies = await this.#discover();
    const climbed: number[] = [];
    for (const die of dies) {
      if (this.#isStopped) break;
      this.#firstDie ??= die;
      if (await this.#climbDie(die)) climbed.push(die);
      // What hangs once may be the bus that all dies are on.
      else if (this.#rows.some(({ outcome }) => outcome === "hung")) break;
      // Without the driver no other die has a chance.
      else if (!this.#table.options.board.driver.isLoaded()) break;
    }
    if (!this.#isStopped) await this.#swapOver(climbed);
    const isFailed = this.#rows.some(({ outcome }) => isBad(outcome));
    const online = this.#table.dies().filter((die) => die.isOnline && die.isReady);
    return {
      rows: this.#rows,
      outcome:
        isFailed && !this.#isRecovered() ? "failed" : this.#isStopped ? "stopped" : "complete",
      online: online.map(({ number }) => number),
    };
  }

  async #discover(): Promise<readonly number[]> {
    const found = (discovery: Discovery): string => `${discovery.dies.length} dies`;
    const dies = await this.#take(0, "discover", () => this.#owner.discover(), found);
    return dies.ok ? dies.value.dies.map(({ die }) => die) : [];
  }

  async #climbDie(die: number): Promise<boolean> {
    const first = this.#rows.length;
    const online = await this.#owner.online(die);
    if (online.ok) return this.#workOn(die);
    const isTold = this.#rows.slice(first).some(({ outcome }) => isBad(outcome));
    if (!isTold && !this.#isStopped) this.#refuse(die, first, online.error);
    return false;
  }

  /** The owner did not take the die up to its next rung, and no rung says why. */
  #refuse(die: number, first: number, { message }: OwnerRefusal): void {
    const last = this.#rows.slice(first).findLast((row) => row.die === die);
    const next = last === undefined ? "acquire" : BRING_UP_STEPS[heightOf(last.step) + 1];
    const row = { die, step: next ?? "swap", outcome: "refused", detail: message } as const;
    this.#table.options.log(` die ${String(die)}: ${row.step} refused: ${message}`);
    this.after({ ...row, elapsedMs: 0 });
  }

  async #workOn(die: number): Promise<boolean> {
    const work = await this.#take(die, "work", () => this.#owner.work(die, SEED + die, ITERS));
    if (!work.ok) return false;
    const read = await this.#take(die, "read", () => this.#read(die), readText);
    return read.ok;
  }

  /** A result that is wrong is a failure here, where the REPL only says so. */
  async #read(die: number): Promise<Result<ReadReport, OwnerRefusal>> {
    const read = await this.#owner.read(die);
    if (!read.ok || read.value.pass) return read;
    const message = `${read.value.bad} of ${read.value.checked} elements are wrong`;
    return err({ code: "die_failed", message });
  }

  /** There and back over the dies, each result read again after every move. */
  async #swapOver(dies: readonly number[]): Promise<void> {
    // A host that was replaced for a later die took what earlier ones had with it.
    for (const die of this.#table.dies().filter(({ number }) => dies.includes(number))) {
      if (!(die.isOnline && die.hasResult) && !(await this.#climbDie(die.number))) return;
    }
    this.#isSwapping = true;
    for (let round = 0; round < SWAP_ROUNDS; round++) {
      for (const die of dies) {
        const swapped = await this.#take(
          die,
          "swap",
          () => this.#swapTo(die),
          (text) => text,
        );
        if (!swapped.ok) return;
      }
    }
  }

  async #swapTo(die: number): Promise<Result<string, OwnerRefusal>> {
    const swapped = await this.#owner.swap(die);
    if (!swapped.ok) return swapped;
    const read = await this.#read(die);
    if (!read.ok) return read;
    const { moved, elapsedMs } = swapped.value;
    const how = moved ? `moved in ${elapsedMs.toFixed(1)} ms` : "it was mapped";
    return ok(`${how}; ${readText(read.value)}`);
  }

  /** True where what failed was made good by a later try of the same rung. */
  #isRecovered(): boolean {
    return this.#rows.every(
      (row, at) =>
        !isBad(row.outcome) ||
        this.#rows
          .slice(at + 1)
          .some(
            ({ die, step, outcome }) => die === row.die && step === row.step && !isBad(outcome),
          ),
    );
  }

  #take<T>(
    die: number,
    step: BringUpStep,
    action: () => Promise<Result<T, OwnerRefusal>>,
    found: (value: T) => string = () => "",
  ): Promise<Result<T, unknown>> {
    return rung(this.#table.tools, { die, step, found }, async () => {
      const done = await action();
      return done.ok ? done : err(asFailure(step, done.error));
    });
  }
}

const isBad = (outcome: RungReport["outcome"]): boolean =>
  outcome !== "done" && outcome !== "skipped";

const heightOf = (step: BringUpStep): number => BRING_UP_STEPS.indexOf(step);

const readText = ({ checked, bad }: ReadReport): string => `${checked - bad} elements right`;

const asFailure = (step: BringUpStep, { code, message }: OwnerRefusal): HostFailure => ({
  kind: "refused",
  cause: { name: code, code: 0, call: step, message },
});
