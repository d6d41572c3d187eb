/**
 * Holds the rules of DESIGN section 4 against what a simulated machine, its GPUs and the journal's
 * disk show from outside. The machine itself tells of what hardware would not stand (a context
 * touched outside the window, the driver loaded twice, a move under a kernel); the rest is here.
 */
import {
  overridesOf,
  type SimMachine,
  type SimObservation,
  type SimStepName,
  type SimViolation,
} from "../board/mod.ts";
import { HEALTH_PERIOD_MS, type BringUpStep, type OwnerStatus } from "../owner/mod.ts";
import type { SimContext, SimGpus } from "./sim-gpus.ts";
import type { SimJournal } from "./sim-journal.ts";

/** Which rungs a step of the machine belongs to: one of them was to be begun before it. */
const RUNGS: Readonly<Partial<Record<SimStepName, readonly BringUpStep[]>>> = {
  acquire: ["acquire"],
  block: ["block-all-except"],
  modprobe: ["load-driver"],
  unblock: ["unblock"],
  bind: ["bind"],
  initialise: ["initialise"],
  context: ["context"],
};

/** Steps that write to sysfs, or end what was written for. */
const DRIVER_STEPS: readonly SimStepName[] = ["block", "modprobe", "unblock", "bind"];

/**
 * How long a die in the window may be told to be ready that would fail its probe: one interval of
 * the owner's health checks, and the probe itself with what it waits for.
 */
const READY_LAG_MS_MAX = HEALTH_PERIOD_MS + 30_000;

/** How far two times may differ that are to be equal. */
const ROUNDING_MS = 1e-6;

export type CheckerOptions = {
  readonly machine: SimMachine;
  readonly gpus: SimGpus;
  readonly journal: SimJournal;
  readonly minimumHoldMs: number;
  readonly onViolation: (violation: SimViolation) => void;
};

/** One bring-up's writes to sysfs: what was there before them, and whether they came to nothing. */
type Attempt = {
  readonly die: number;
  readonly before: readonly (string | null)[];
  isFailed: boolean;
  /** What other dies' overrides stay at: a driver that is there would probe what is let go. */
  kept: readonly (string | null)[] | null;
};

export class Checker {
  readonly #options: CheckerOptions;
  /** What contexts held when their die left the window. */
  readonly #digests = new Map<SimContext, number>();
  /** By board: when its window came to a die. */
  readonly #arrivals = new Map<number, { readonly die: number; readonly atMs: number }>();
  #attempt: Attempt | null = null;
  /** Steps that the present owner has taken; those of one that is gone end as they will. */
  readonly #taken = new Set<number>();
  #isParked = false;
  #resumes = 0;
  /** Since when a die in the window would fail a probe; none where it would not. */
  readonly #sickSinceMs = new Map<number, number>();

  constructor(options: CheckerOptions) {
    this.#options = options;
    options.machine.observe((seen) => this.#observe(seen));
  }

  /** The owner touches nothing from now on, or serves again. */
  park(isParked: boolean): void {
    this.#isParked = isParked;
    if (!isParked) this.#resumes += 1;
  }

  /** How often an owner was told to serve again. */
  get resumes(): number {
    return this.#resumes;
  }

  /** An owner that was killed leaves what it was about as it is. */
  ownerGone(): void {
    this.#attempt = null;
    this.#taken.clear();
    this.#arrivals.clear();
    this.park(false);
  }

  /** Looks at what lasts: to be called now and then, and whenever a request was answered. */
  look(): void {
    this.#checkRestored();
    const { machine } = this.#options;
    const nowMs = machine.clock.nowMs();
    for (const { die } of machine.dies) {
      if (!machine.isMapped(die) || this.#answers(die)) this.#sickSinceMs.delete(die);
      else if (!this.#sickSinceMs.has(die)) this.#sickSinceMs.set(die, nowMs);
    }
  }

  /** 7: `ready` is true only while a probe would pass. */
  checkStatus({ mode, dies }: OwnerStatus): void {
    this.look();
    // An owner that has stopped touches no die, and says of each what it knew last.
    if (mode !== "serving") return;
    const nowMs = this.#options.machine.clock.nowMs();
    for (const { die, ready } of dies) {
      const sickMs = nowMs - (this.#sickSinceMs.get(die) ?? nowMs);
      if (!ready || sickMs <= READY_LAG_MS_MAX) continue;
      this.#violate(7, `die ${die} is called ready and has not answered right for ${sickMs} ms`);
    }
  }

  /** 6: the owner has left, and the windows show what they showed. */
  checkLeft(shownBefore: readonly (number | null)[]): void {
    this.#options.machine.slots.forEach(({ occupant, board }, at) => {
      if (occupant === shownBefore[at]) return;
      this.#violate(6, `the window of board ${board} was released when the owner left`);
    });
  }

  #violate(invariant: number, text: string): void {
    this.#options.onViolation({ invariant, text });
  }

  /** Whether a probe kernel on the die would give the right answer now. */
  #answers(die: number): boolean {
    const { machine, gpus } = this.#options;
    if (machine.has("off_bus", die) || machine.has("wrong_answer", die)) return false;
    return gpus.contextsOf(die).some((context) => !gpus.isLost(context));
  }

  #observe(seen: SimObservation): void {
    if (seen.kind === "reset") {
      this.#digests.clear();
      this.ownerGone();
    }
    if (seen.kind === "begin") {
      if (DRIVER_STEPS.includes(seen.step)) this.#taken.add(seen.id);
      this.#begin(seen.step, seen.die);
    }
    if (seen.kind === "end")
      this.#end(seen.step, seen.die, {
        outcome: seen.outcome.kind,
        isOwn: this.#taken.delete(seen.id),
      });
  }

  #begin(step: SimStepName, die: number): void {
    this.#checkJournal(step, die);
    if (this.#isParked) this.#violate(0, `a parked owner takes a step: ${step} of die ${die}`);
    if (step === "acquire") {
      this.#checkHold(die);
      this.#leaveWindow(die);
    }
    if (DRIVER_STEPS.includes(step)) this.#beginAttempt(step, die);
  }

  #end(
    step: SimStepName,
    die: number,
    { outcome, isOwn }: { readonly outcome: string; readonly isOwn: boolean },
  ): void {
    if (step === "acquire" && outcome === "done") {
      const { board } = this.#options.machine.dieOf(die);
      this.#arrivals.set(board, { die, atMs: this.#options.machine.clock.nowMs() });
      this.#checkIntact(die);
    }
    if (!isOwn || !DRIVER_STEPS.includes(step) || this.#attempt === null) return;
    if (outcome !== "done") {
      const { machine } = this.#options;
      const isLoading = step === "modprobe" && outcome === "hung" && machine.has("hang", die);
      this.#attempt.isFailed = true;
      this.#attempt.kept = machine.isLoaded || isLoading ? overridesOf(machine) : null;
    } else if (step === "modprobe" || step === "bind") this.#attempt = null;
  }

  /** 4: the rung is in the journal before the machine sees its step. */
  #checkJournal(step: SimStepName, die: number): void {
    const rungs = RUNGS[step];
    if (rungs === undefined || this.#options.journal.isOpen(die, rungs)) return;
    this.#violate(4, `${step} of die ${die} began before the journal had it`);
  }

  /** 5: a die that came stays for the minimum hold. */
  #checkHold(die: number): void {
    const { machine, minimumHoldMs } = this.#options;
    const slot = machine.slotOf(die);
    const arrival = this.#arrivals.get(slot.board);
    this.#arrivals.delete(slot.board);
    if (arrival === undefined || slot.isLost || arrival.die === die) return;
    const heldMs = machine.clock.nowMs() - arrival.atMs;
    if (heldMs >= minimumHoldMs - ROUNDING_MS) return;
    this.#violate(5, `die ${arrival.die} had the window for ${heldMs} ms only`);
  }

  /** 2: remembers what the dies of the board hold as the window leaves them. */
  #leaveWindow(acquired: number): void {
    const { machine, gpus } = this.#options;
    const { board } = machine.dieOf(acquired);
    for (const { die } of machine.dies.filter((other) => other.board === board)) {
      if (die === acquired) continue;
      for (const context of gpus.contextsOf(die))
        if (!this.#digests.has(context)) this.#digests.set(context, digestOf(context));
    }
  }

  /** 2: a die finds its memory as it was when the window left it. */
  #checkIntact(die: number): void {
    const { gpus } = this.#options;
    for (const context of gpus.contextsOf(die)) {
      const before = this.#digests.get(context);
      this.#digests.delete(context);
      if (before === undefined || before === digestOf(context) || gpus.isLost(context)) continue;
      this.#violate(2, `die ${die} does not hold what it held when the window left it`);
    }
  }

  #beginAttempt(step: SimStepName, die: number): void {
    this.#checkRestored();
    if (step === "block" || step === "unblock")
      this.#attempt = {
        ...{ die, before: overridesOf(this.#options.machine) },
        ...{ isFailed: false, kept: null },
      };
  }

  /** 6: sysfs is as it was before a bring-up that failed, but for blocks that have to stay. */
  #checkRestored(): void {
    const attempt = this.#attempt;
    if (attempt?.isFailed !== true) return;
    this.#attempt = null;
    const { machine } = this.#options;
    // A step that hung may have come to its end after all, and then is no failure.
    if (machine.dieOf(attempt.die).isBound) return;
    overridesOf(machine).forEach((override, die) => {
      const isKept = attempt.kept !== null && die !== attempt.die;
      const before = (isKept ? attempt.kept : attempt.before)?.[die] ?? null;
      if (override === before || machine.dieOf(die).isBound) return;
      const [is, was] = [override ?? "unset", before ?? "unset"];
      this.#violate(6, `driver_override of die ${die} is ${is} after a step failed, not ${was}`);
    });
  }
}

/** A sum over all that a context holds (FNV-1a). */
function digestOf({ view }: SimContext): number {
  let hash = 0x811c9dc5;
  for (const bytes of view.memory.values())
    for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
