/** What a bring-up journal tells afterwards: the rung on which an earlier owner came to its end. */
import type { JournalLine } from "./journal.ts";

/** A rung that was begun and never ended. */
export type Interruption = {
  readonly line: JournalLine;
  /**
   * `host_reset`: the machine was started anew since, so the rung may have taken it down. `killed`:
   * only the owner is gone. `running`: the process that began it is alive and may still be at it.
   */
  readonly how: "host_reset" | "killed" | "running";
};

export type JournalSurroundings = {
  readonly bootId: string;
  readonly isAlive: (pid: number) => boolean;
};

/**
 * The latest rung of each die that was begun and neither done nor failed, newest first. A rung that
 * was climbed later, by whomever, is not among them. Lines that are torn or of no journal of ours
 * are left out: a host that crashes may leave half a line.
 */
export function findInterruptions(
  text: string,
  surroundings: JournalSurroundings,
): readonly Interruption[] {
  const open = new Map<number, JournalLine>();
  for (const line of parseJournal(text)) {
    // Any later entry of a die says that it was climbed again, and how far.
    open.delete(line.die);
    if (line.phase === "begin") open.set(line.die, line);
  }
  const found = [...open.values()].map((line) => ({ line, how: howOf(line, surroundings) }));
  return found.sort((a, b) => b.line.time.localeCompare(a.line.time));
}

function howOf(line: JournalLine, { bootId, isAlive }: JournalSurroundings): Interruption["how"] {
  if (line.boot !== bootId) return "host_reset";
  return isAlive(line.pid) ? "running" : "killed";
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
