/** Files that a die host opens for a job, and closes once. */
import { closeSync, openSync } from "node:fs";

import { fileCall, FileError } from "../base/mod.ts";

export type HeldFile = {
  readonly file: number;
  /**
   * Closes it, the first time. Throws FileError: a network's file system may only then say that it
   * had no room for what was written.
   */
  readonly close: () => void;
};

/** Opens a file. Throws FileError. */
export function openHeld(path: string, flags: number, mode?: number): HeldFile {
  const file = fileCall("open", path, () => openSync(path, flags, mode));
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    fileCall("close", path, () => closeSync(file));
  };
  return { file, close };
}

/** Lets go of files where nobody cares any more what becomes of them. */
export function closeQuietly(closers: readonly (() => void)[]): void {
  for (const close of closers) {
    try {
      close();
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
    }
  }
}
