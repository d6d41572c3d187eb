/** What a bring-up journal tells afterwards: the rung on which an earlier owner came to its end. */
import { BRING_UP_STEPS, type BringUpStep, type JournalLine } from "./journal.ts";

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
};

/**
 * Whether that very process is there and has not ended. Numbers are given again: one that was not
 * started at `startTicks` is another one. Left out or 0: any of that number.
 */
export type IsAlive = (pid: number, startTicks?: number) => boolean;

/**
 * The rungs that were begun and neither done nor failed, or that hung; newest first. One in which
 * the machine was reset, or that hung, stays among them until that rung is climbed again, or one
 * above it: a climb that stops below it says nothing of it. Of the others only a die's latest
 * counts. Lines that are torn or of no journal of ours are left out: a host that crashes may leave
 * half a line.
 */
export function findInterruptions(
  text: string,
  surroundings: JournalSurroundings,
): readonly Interruption[] {
  const open = new Map<string, JournalLine>();
  const latest = new Map<number, JournalLine>();
  for (const line of parseJournal(text)) {
    latest.set(line.die, line);
    open.delete(keyOf(line));
    if (line.phase === "begin" || line.verdict === "hung") open.set(keyOf(line), line);
    if (line.phase !== "done") continue;
    for (const below of [...open.values()]) {
      if (below.die === line.die && heightOf(below) < heightOf(line)) open.delete(keyOf(below));
    }
  }
  return [...open.values()]
    .flatMap((line) => {
      const how = howOf(line, surroundings);
      const isPast = (how === "killed" || how === "running") && latest.get(line.die) !== line;
      return how === null || isPast ? [] : [{ line, how }];
    })
    .sort((a, b) => b.line.time.localeCompare(a.line.time));
}

const keyOf = ({ die, step }: { readonly die: number; readonly step: BringUpStep }): string =>
  `${String(die)} ${step}`;

const heightOf = ({ step }: JournalLine): number => BRING_UP_STEPS.indexOf(step);

/** Null where it hung, and what was stuck in it has ended since. */
function howOf(
  line: JournalLine,
  { bootId, isAlive }: JournalSurroundings,
): Interruption["how"] | null {
  if (line.boot !== bootId) return "host_reset";
  const { pid, startTicks, stepPid, stepStartTicks } = line;
  if (line.verdict !== "hung") return isAlive(pid, startTicks) ? "running" : "killed";
  return stepPid !== undefined && isAlive(stepPid, stepStartTicks) ? "hung" : null;
}

/** The lines of a journal, in the order in which they were written. */
export function parseJournal(text: string): readonly JournalLine[] {
  return text.split("\n").flatMap((line) => {
    const entry = parseLine(line);
    return entry === null ? [] : [entry];
  });
}

function parseLine(text: string): JournalLine | null {
  try {
    const entry = JSON.parse(text) as Partial<JournalLine> | null;
    const isWhole =
      typeof entry?.time === "string" &&
      typeof entry.pid === "number" &&
      typeof entry.boot === "string" &&
      typeof entry.die === "number" &&
      typeof entry.step === "string" &&
      typeof entry.phase === "string";
    return isWhole ? (entry as JournalLine) : null;
  } catch {
    return null;
  }
}
