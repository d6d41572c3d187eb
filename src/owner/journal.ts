/**
 * The bring-up journal: a line on disk before each step that can hang or crash the host, so that
 * what wedged is named after a reboot (DESIGN section 4, invariant 4).
 */
import { closeSync, fstatSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

import { err, makeFolder, ok, type Result } from "../base/mod.ts";

/** A rung of the bring-up ladder. */
export type BringUpStep =
  | "acquire"
  | "block-all-except"
  | "load-driver"
  | "unblock"
  | "bind"
  | "initialise"
  | "context"
  | "module"
  | "buffers"
  | "probe";

export type JournalEntry = {
  readonly step: BringUpStep;
  readonly die: number;
  /** `begin` is written and flushed before the step runs. */
  readonly phase: "begin" | "done" | "failed";
  readonly detail?: string;
};

/** A journal this long becomes `<path>.old` when the next owner starts: years of bring-ups. */
const JOURNAL_BYTES_MAX = 4 * 1024 * 1024;

export type Journal = { readonly write: (entry: JournalEntry) => void };

/** A journal that keeps nothing, for callers without a state directory. */
export const noJournal: Journal = { write: () => undefined };

/**
 * Opens `path` for appending, making its directory. Each entry is one line of JSON with the time
 * and the process id. `begin` is flushed to the disk before this returns; the others follow in its
 * wake.
 */
export function openJournal(path: string, now: () => Date): Result<Journal, string> {
  let file: number;
  try {
    makeFolder(dirname(path), 0o700);
    file = openSync(path, "a", 0o600);
    if (fstatSync(file).size > JOURNAL_BYTES_MAX) {
      closeSync(file);
      renameSync(path, `${path}.old`);
      file = openSync(path, "a", 0o600);
    }
  } catch (error) {
    return err(error instanceof Error ? error.message : String(error));
  }
  process.once("exit", () => closeSync(file));
  return ok({
    write: (entry) => {
      const line = { time: now().toISOString(), pid: process.pid, ...entry };
      writeSync(file, `${JSON.stringify(line)}\n`);
      if (entry.phase === "begin") fsyncSync(file);
    },
  });
}
