/**
 * One rung of the bring-up: journalled and logged before it runs, held back where it took the host
 * down before, its outcome written after it.
 */
import { err, type Clock, type Log, type Mutex, type Result } from "../base/mod.ts";
import type { Board, BoardFailure, BoardVerdict } from "../board/mod.ts";
import type { HostFailure } from "./frames.ts";
import { describeStep, type BringUpStep, type Journal, type JournalEntry } from "./journal.ts";
import { describeCause, type JobCause, type ModuleReference } from "./job.ts";
import type { OwnerRefusal, RungOutcome, RungReport } from "./reports.ts";
import { WEDGED_BEFORE, type StuckStep, type Wedges } from "./wedge.ts";

/** A rung that failed. */
export type BringUpFailure = {
  readonly step: BringUpStep;
  /** `lost`: the die's context, or its host, went with it. */
  readonly kind: "refused" | "lost";
  /** What the board said of its step; null for a step of the die host. */
  readonly verdict: BoardVerdict | null;
  readonly cause: JobCause;
};

/** Who watches a climb, and how fast it may go. */
export type RungPace = {
  /** False: the climb ends here, and nothing of the rung is done. */
  readonly mayTake: (die: number, step: BringUpStep) => boolean;
  /** Waited for once the rung is journalled and logged, and before it runs. */
  readonly before: () => Promise<void>;
  readonly after: (report: RungReport) => void;
};

export type RungTools = {
  readonly log: Log;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly wedges: Wedges;
  /** Null where nobody watches: each rung is taken at once. */
  readonly pace: () => RungPace | null;
  /** Asked right before a rung runs: why it must not, e.g. the window was lost; null: it may. */
  readonly veto?: () => JobCause | null;
  /** Of the die; null where it is not known yet. */
  readonly addressOf: (die: number) => string | null;
};

export type BringUpTools = RungTools & {
  readonly board: Board;
  readonly baseModule: ModuleReference;
  /** Held while the driver is loaded or given a die: it is one for all boards of the machine. */
  readonly driverLock: Mutex;
  /** Elements of the standing work; WORK_ELEMENTS where it is left out. */
  readonly workElements?: number;
};

/** The name of the cause where a climb was ended from outside: nothing is wrong. */
export const STOPPED = "stopped";

/** The name of the cause where a rung could not be written to the journal. */
const NOT_JOURNALLED = "not_journalled";

export type RungAt = { readonly die: number; readonly step: BringUpStep };

type RungWhere = RungAt & { readonly address?: string };

/** Runs one rung: journal and log first, then the action, then its outcome into the journal. */
export async function rung<T>(
  tools: RungTools,
  at: RungAt & {
    /** What the log says instead of the step's description. */
    readonly text?: string;
    /** What the rung found, for whoever watches. */
    readonly found?: (value: T) => string;
  },
  action: () => Promise<Result<T, HostFailure | BoardFailure>>,
): Promise<Result<T, BringUpFailure>> {
  const { die, step } = at;
  const pace = tools.pace();
  const name = `die ${String(die)}`;
  if (pace?.mayTake(die, step) === false) return err(refusedAs(step, stoppedCause(step)));
  const address = tools.addressOf(die);
  const where = { die, step, ...(address === null ? {} : { address }) };
  const held = tools.wedges.refusal(die, step, address) ?? beginInJournal(tools, where);
  if (held !== null) {
    tools.log(` ${name}: ${step} held back: ${held.message}`);
    pace?.after({ die, step, outcome: "refused", elapsedMs: 0, detail: held.message });
    return err(refusedAs(step, held));
  }
  tools.log(` ${name}: ${at.text ?? describeStep(step)}...`);
  await pace?.before();
  const startMs = tools.clock.nowMs();
  const veto = tools.veto?.() ?? null;
  const done = veto === null ? await action() : err({ kind: "refused", cause: veto } as const);
  const elapsedMs = tools.clock.nowMs() - startMs;
  if (done.ok) {
    endInJournal(tools, { ...where, phase: "done" });
    const detail = at.found?.(done.value) ?? "";
    pace?.after({ die, step, outcome: "done", elapsedMs, detail });
    return done;
  }
  const failure = failureOf(step, done.error);
  const outcome = noteFailure(tools, where, { failure, stuck: stuckIn(done.error) });
  pace?.after({ die, step, outcome, elapsedMs, detail: failure.cause.message });
  return err(failure);
}

/** Why the rung must not be climbed: it would hang or crash unseen. Null where it is on disk. */
function beginInJournal(tools: RungTools, where: RungWhere): JobCause | null {
  const begun = tools.journal.write({ ...where, phase: "begin" });
  if (begun.ok) return null;
  const message =
    `it could not be journalled, and is not climbed unseen: ${begun.error}; ` +
    `make room there, then ask again`;
  return { name: NOT_JOURNALLED, code: 0, call: where.step, message };
}

function endInJournal(tools: RungTools, entry: JournalEntry): void {
  const ended = tools.journal.write(entry);
  if (ended.ok) return;
  const what = `${entry.step} ${entry.phase}`;
  tools.log(` die ${String(entry.die)}: '${what}' goes into the journal later: ${ended.error}`);
}

/** Writes down how the rung failed, and holds back one that hung. */
function noteFailure(
  tools: RungTools,
  where: RungWhere,
  { failure, stuck }: { readonly failure: BringUpFailure; readonly stuck: StuckStep | null },
): RungOutcome {
  const { die, step } = where;
  const { cause, verdict, kind } = failure;
  const outcome = verdict === "hung" ? "hung" : kind === "lost" ? "lost" : "refused";
  endInJournal(tools, {
    ...where,
    phase: "failed",
    detail: cause.message,
    ...(outcome === "refused" ? {} : { verdict: outcome }),
    ...(stuck === null ? {} : { stepPid: stuck.pid }),
    ...(stuck?.startTicks === undefined ? {} : { stepStartTicks: stuck.startTicks }),
  });
  if (outcome === "hung") tools.wedges.hold(die, step, stuck);
  const how = outcome === "refused" ? "FAILED" : outcome.toUpperCase();
  tools.log(` die ${String(die)}: ${cause.call} ${how} (${cause.name}): ${cause.message}`);
  return outcome;
}

function stuckIn(error: HostFailure | BoardFailure): StuckStep | null {
  if (!("verdict" in error) || error.stepPid === undefined) return null;
  const { stepPid: pid, stepStartTicks: startTicks } = error;
  return startTicks === undefined ? { pid } : { pid, startTicks };
}

/** Tells whoever watches of a rung that need not be climbed. */
export function skipRung(tools: RungTools, at: RungAt, why: string): void {
  const { die, step } = at;
  const pace = tools.pace();
  if (pace?.mayTake(die, step) !== true) return;
  tools.log(` die ${String(die)}: ${step} skipped: ${why}`);
  pace.after({ die, step, outcome: "skipped", elapsedMs: 0, detail: why });
}

function failureOf(step: BringUpStep, error: HostFailure | BoardFailure): BringUpFailure {
  if ("kind" in error) return { step, kind: error.kind, verdict: null, cause: error.cause };
  const { verdict, call, message } = error;
  const name = verdict === "refused" ? "board" : `board_${verdict}`;
  const kind = verdict === "lost" ? "lost" : "refused";
  return { step, kind, verdict, cause: { name, code: 0, call, message } };
}

const refusedAs = (step: BringUpStep, cause: JobCause): BringUpFailure => ({
  step,
  kind: "refused",
  verdict: null,
  cause,
});

const stoppedCause = (step: BringUpStep): JobCause => ({
  name: STOPPED,
  code: 0,
  call: step,
  message: "the climb was to end before it",
});

/** The failure as the owner's refusal; a backend that does not open is no fault of the die. */
export function refusalOf({ step, cause }: BringUpFailure): OwnerRefusal {
  if (cause.name === WEDGED_BEFORE) return { code: "wedged_before", message: cause.message };
  const message = `${step}: ${describeCause(cause)}`;
  if (cause.name === NOT_JOURNALLED) return { code: "not_journalled", message };
  if (step === "acquire") return { code: "slot_failed", message };
  return { code: step === "initialise" ? "no_device" : "bring_up_failed", message };
}
