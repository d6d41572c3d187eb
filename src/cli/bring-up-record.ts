/** The bring-up journal of a state folder: what earlier owners left in it, and the one to go on. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../base/mod.ts";
import { isProcessAlive, readProcess } from "../board/mod.ts";
import {
  adviceFor,
  describeStep,
  findInterruptions,
  JOURNAL_NAME,
  noJournal,
  openJournal,
  readBootId,
  Wedges,
  type Interruption,
  type Journal,
} from "../owner/mod.ts";

export type BringUpRecord = { readonly journal: Journal; readonly wedges: Wedges };

/**
 * Reads what is there, says what came to no good end, and opens the journal. Without a journal the
 * owner still works; only a wedged host stays unexplained.
 */
export function openBringUpRecord(options: {
  readonly stateDirectory: string;
  readonly now: () => Date;
  readonly log: Log;
}): BringUpRecord {
  const { stateDirectory, now, log } = options;
  const path = join(stateDirectory, JOURNAL_NAME);
  const bootId = readBootId("/");
  // The journal becomes `.old` when it is long; what happened just before that counts as well.
  const text = readQuietly(`${path}.old`) + readQuietly(path);
  const interruptions = findInterruptions(text, { bootId, isAlive });
  for (const interruption of interruptions) log(interruptionLine(interruption));
  const wedges = new Wedges({ interruptions, journalPath: path, isAlive, now });
  const { startTicks = 0 } = readProcess("/", process.pid) ?? {};
  const journal = openJournal({ path, now, bootId, ...(startTicks === 0 ? {} : { startTicks }) });
  if (journal.ok) return { journal: journal.value, wedges };
  log(`no bring-up journal, going on without: ${journal.error}; --state-dir names another folder`);
  return { journal: noJournal, wedges };
}

const HOW: Readonly<Record<Interruption["how"], string>> = {
  host_reset: "the machine was reset",
  hung: "it hangs still",
  killed: "the owner was ended",
  running: "another process may still be at it",
};

function interruptionLine({ line, how }: Interruption): string {
  const { die, step, time } = line;
  const what = `die ${String(die)} at ${time}, ${describeStep(step)} (${step})`;
  return `journal: ${what}: ${HOW[how]}; ${adviceFor(step, how)}`;
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * True also for a process of another user, and for one that is stuck in the kernel. One that was
 * not started at `startTicks` only has the number of the process that is asked for.
 */
function isAlive(pid: number, startTicks = 0): boolean {
  try {
    process.kill(pid, 0);
    // Where /proc hides it, its number is all that is known.
    return readProcess("/", pid) === null || isProcessAlive("/", pid, startTicks);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
