/** What a bring-up journal tells afterwards: the rung on which an earlier owner came to its end. */
import type { SlotKind } from "../board/mod.ts";
import { BRING_UP_STEPS, type JournalLine } from "./journal.ts";
import { DIES_MAX } from "./reports.ts";

/** A rung that was begun and came to no end. */
export type Interruption = {
  readonly line: JournalLine;
  /**
   * `host_reset`: the machine was started anew since, so the rung may have taken it down. `hung`:
   * it did not come back, and the process that took it is still there. `killed`: only the owner is
   * gone. `running`: the process that began it is alive and may still be at it.
   */
  readonly how: "host_reset" | "hung" | "killed" | "running";
};

export type JournalSurroundings = {
  readonly bootId: string;
  readonly isAlive: IsAlive;
  /** How the dies are reached that it is asked for; all are told where it is left out. */
  readonly slot?: SlotKind;
};

/**
 * Whether that very process is there and has not ended. Numbers are given again: one that was not
 * started at `startTicks` is another one. Left out or 0: any of that number.
 */
export type IsAlive = (pid: number, startTicks?: number) => boolean;

/**
 * The rungs that were begun and neither done nor failed, or that hung; newest first. Each stays
 * among them until it is climbed again, or one above it on that die: a climb that stops below it
 * says nothing of it. Lines that are none of ours are left out (countStrange).
 */
export function findInterruptions(
  text: string,
  surroundings: JournalSurroundings,
): readonly Interruption[] {
  return openRungs(text)
    .flatMap((line) => {
      const how = howOf(line, surroundings);
      return how === null ? [] : [{ line, how }];
    })
    .sort((a, b) => b.line.time.localeCompare(a.line.time));
}

/** The lines of rungs that were begun, or hung, and are not over; in the order of the journal. */
export function openRungs(text: string): readonly JournalLine[] {
  let open: JournalLine[] = [];
  for (const line of parseJournal(text)) {
    if (open.some((each) => isOver(each, line))) open = open.filter((each) => !isOver(each, line));
    if (line.phase === "begin" || line.verdict === "hung") open.push(line);
  }
  return open;
}

/** Whether a later line tells that an open rung is. */
function isOver(open: JournalLine, line: JournalLine): boolean {
  if (!isSameDie(open, line)) return false;
  if (open.step === line.step) return true;
  if (line.phase !== "done") return false;
  return heightOf(open) < heightOf(line) || isWellSince(open, line);
}

/**
 * Only a ladder climbs above the probe. Of an owner that was killed there, while the machine ran
 * on, nothing is left once the die answers another one.
 */
const isWellSince = (open: JournalLine, line: JournalLine): boolean =>
  line.step === "probe" &&
  open.phase === "begin" &&
  open.boot === line.boot &&
  open.pid !== line.pid;

/** Numbers of dies change with the machine's boards, addresses with its bridges; both tell. */
function isSameDie(a: JournalLine, b: JournalLine): boolean {
  if (!isSameMachine(a.slot, b.slot)) return false;
  if (a.address === undefined || b.address === undefined) return a.die === b.die;
  return a.address === b.address;
}

/** A simulated die has nothing to do with a real one; of a slot left out it is not known. */
export const isSameMachine = (a: SlotKind | undefined, b: SlotKind | undefined): boolean =>
  a === undefined || b === undefined || (a === "sim") === (b === "sim");

const heightOf = ({ step }: JournalLine): number => BRING_UP_STEPS.indexOf(step);

/** Null where it hung and what was stuck has ended since, or where it is no matter of ours. */
function howOf(
  line: JournalLine,
  { bootId, isAlive, slot }: JournalSurroundings,
): Interruption["how"] | null {
  if (!isSameMachine(line.slot, slot)) return null;
  if (line.boot !== bootId) return "host_reset";
  const { pid, startTicks, stepPid, stepStartTicks } = line;
  if (line.verdict !== "hung") return isAlive(pid, startTicks) ? "running" : "killed";
  return stepPid !== undefined && isAlive(stepPid, stepStartTicks) ? "hung" : null;
}

/** The lines of a journal that are ours, in the order in which they were written. */
export function parseJournal(text: string): readonly JournalLine[] {
  return text.split("\n").flatMap((line) => parseLine(line) ?? []);
}

/**
 * How many lines are not ours: torn, as a crash may leave one, written by another program, or of a
 * rung that only a newer version knows.
 */
export const countStrange = (text: string): number =>
  text.split("\n").filter((line) => line !== "" && parseLine(line) === null).length;

function parseLine(text: string): JournalLine | null {
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    return null;
  }
  return isLine(entry) ? entry : null;
}

/** The largest number that Linux gives a process. */
const PID_MAX = 4_194_304;

const ADDRESS = /^[\w:.-]{1,32}$/;

const isWhole = (value: unknown, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;

const isPid = (value: unknown): boolean => isWhole(value, 1, PID_MAX);
const isTicks = (value: unknown): boolean => isWhole(value, 0, Number.MAX_SAFE_INTEGER);
const isText = (value: unknown): boolean => typeof value === "string";
const isOneOf =
  (names: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === "string" && names.includes(value);

/** What each field of a line must be, where it is there. */
const FIELDS: Readonly<Record<keyof JournalLine, (value: unknown) => boolean>> = {
  time: (value) => typeof value === "string" && isTime(value),
  pid: isPid,
  boot: isText,
  die: (value) => isWhole(value, 0, DIES_MAX - 1),
  step: isOneOf(BRING_UP_STEPS),
  phase: isOneOf(["begin", "done", "failed"]),
  slot: isOneOf(["direct", "bar_swap", "sim"]),
  detail: isText,
  address: (value) => typeof value === "string" && ADDRESS.test(value),
  verdict: isOneOf(["hung", "lost"]),
  stepPid: isPid,
  stepStartTicks: isTicks,
  startTicks: isTicks,
};

const REQUIRED = ["time", "pid", "boot", "die", "step", "phase"] as const;

/** As it is written, and no other of the many texts that Date takes. */
function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}

function isLine(entry: unknown): entry is JournalLine {
  if (typeof entry !== "object" || entry === null) return false;
  const fields = new Map<string, unknown>(Object.entries(entry));
  return (
    REQUIRED.every((name) => fields.has(name)) &&
    Object.entries(FIELDS).every(
      ([name, isRight]) => !fields.has(name) || isRight(fields.get(name)),
    )
  );
}
