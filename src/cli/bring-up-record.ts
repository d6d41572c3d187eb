/** The bring-up journal of a state folder: what earlier owners left in it, and the one to go on. */
import { join } from "node:path";
import type { Log } from "../base/mod.ts";
import { isProcessAlive, readProcess, type SlotKind } from "../board/mod.ts";
import {
  adviceFor,
  countStrange,
  describeStep,
  findInterruptions,
  JOURNAL_NAME,
  noJournal,
  openJournal,
  readBootId,
  readJournal,
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
  readonly slot: SlotKind;
  readonly now: () => Date;
  readonly log: Log;
}): BringUpRecord {
  const { stateDirectory, slot, now, log } = options;
  const path = join(stateDirectory, JOURNAL_NAME);
  const bootId = readBootId("/");
  const read = readJournal(path);
  const text = read.ok ? read.value : "";
  const strange = countStrange(text);
  if (strange > 0)
    log(`journal: ${strange} lines of ${path} are torn or not ours, and say nothing`);
  const interruptions = findInterruptions(text, { bootId, isAlive, slot });
  for (const interruption of interruptions) log(interruptionLine(interruption));
  const unreadable = read.ok ? null : read.error;
  const wedges = new Wedges({ interruptions, unreadable, journalPath: path, isAlive, now });
  const { startTicks = 0 } = readProcess("/", process.pid) ?? {};
  const journal = openJournal({ path, now, bootId, slot, startTicks });
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
