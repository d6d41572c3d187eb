/** The state directory: what earlier owners have left there. */
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { toFileError } from "../../base/mod.ts";
import { isProcessAlive, readProcess } from "../../board/mod.ts";
import {
  countStrange,
  findInterruptions,
  JOURNAL_NAME,
  readBootId,
  readJournal,
  type Interruption,
} from "../../owner/mod.ts";
import type { MachineFiles } from "../machine-files.ts";

export type StateFacts = {
  readonly directory: string;
  /** Why nothing can be kept there: errno's name and the path that is in the way; else null. */
  readonly obstacle: { readonly code: string; readonly path: string } | null;
  readonly journalPath: string;
  /** Why it cannot be read; null where it can, or is not there. */
  readonly journalError: string | null;
  /** Lines of it that are torn, or not ours. */
  readonly strangeLines: number;
  readonly interruptions: readonly Interruption[];
  /** Half-written files, and locks put aside, of processes that have ended. */
  readonly leftovers: readonly string[];
};

/** Files that are looked at; a bridge keeps two for a mailbox. */
const ENTRIES_MAX = 4096;

/** `directory` is a path of this machine, also where the root is a recorded tree. */
export function readState(files: MachineFiles, directory: string): StateFacts {
  const journalPath = join(directory, JOURNAL_NAME);
  // A recorded tree may hold no more of a process than that it is there.
  const isAlive = (pid: number, startTicks = 0): boolean =>
    files.exists(`proc/${String(pid)}`) &&
    (readProcess(files.root, pid) === null || isProcessAlive(files.root, pid, startTicks));
  const read = readJournal(journalPath);
  const text = read.ok ? read.value : "";
  return {
    directory,
    obstacle: obstacleAt(directory),
    journalPath,
    journalError: read.ok ? null : read.error,
    strangeLines: countStrange(text),
    interruptions: findInterruptions(text, { bootId: readBootId(files.root), isAlive }),
    leftovers: leftoversIn(directory, isAlive),
  };
}

/** Looks at the folder, or where it is missing at the nearest one above that is there. */
function obstacleAt(directory: string): StateFacts["obstacle"] {
  for (let path = directory; ; path = dirname(path)) {
    try {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined && dirname(path) !== path) continue;
      if (found?.isDirectory() !== true) return { code: "ENOTDIR", path };
      accessSync(path, constants.W_OK | constants.X_OK);
      return null;
    } catch (error) {
      const { code } = toFileError("access", path, error);
      // Something above is a file; go on until it is found.
      if (code !== "ENOTDIR" || dirname(path) === path) return { code, path };
    }
  }
}

/** `<name>.<pid>` and `<name>.<pid>.stale` of the bridge's locks, `<name>.<pid>.tmp` of others. */
const OF_PROCESS = /\.(\d{1,10})(\.stale|\.tmp)?$/;

function leftoversIn(directory: string, isAlive: (pid: number) => boolean): readonly string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: "utf8" })
      .slice(0, ENTRIES_MAX)
      .filter((name) => {
        const pid = OF_PROCESS.exec(name)?.[1];
        return pid !== undefined && !isAlive(Number(pid));
      })
      .map((name) => join(directory, name))
      .sort();
  } catch {
    return [];
  }
}
