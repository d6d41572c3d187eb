/**
 * Whose a mailbox's files in the state folder are, and what they are called. What is kept belongs
 * to the folder that holds the done file, so that a mailbox that was made anew under an old path
 * begins anew.
 */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { dirname, join } from "node:path";

import { fileCall, FileError, resolveTarget } from "../base/mod.ts";

/** What tells a folder from one that took its name later. */
export type FolderIdentity = {
  readonly dev: bigint;
  readonly ino: bigint;
  /** 0 where the file system does not keep it. */
  readonly birthNs: bigint;
};

let isBirthToldHere: boolean | null = null;

/**
 * True where 0 is told as the time of birth of what has none. Without statx(2) Node tells the time
 * of the last change instead, of every file, and so of those in /proc.
 */
function isBirthTold(): boolean {
  isBirthToldHere ??= statSync("/proc", { bigint: true }).birthtimeNs === 0n;
  return isBirthToldHere;
}

/** The folder that holds the file, or is to hold it; null where there is no such folder. */
export function folderOf(path: string): FolderIdentity | null {
  try {
    const folder = dirname(resolveTarget(path));
    const stats = fileCall("stat", folder, () => statSync(folder, { bigint: true }));
    const isKept = stats.birthtimeNs !== stats.ctimeNs || isBirthTold();
    return { dev: stats.dev, ino: stats.ino, birthNs: isKept ? stats.birthtimeNs : 0n };
  } catch (error) {
    if (error instanceof FileError) return null;
    throw error;
  }
}

export function isSameFolder(one: FolderIdentity, other: FolderIdentity): boolean {
  if (one.dev !== other.dev || one.ino !== other.ino) return false;
  return one.birthNs === other.birthNs || one.birthNs === 0n || other.birthNs === 0n;
}

/** Names a mailbox's files in the state folder, whatever its paths are. */
export function stateName(mailbox: { readonly job: string; readonly done: string }): string {
  const hash = createHash("sha256").update(`${mailbox.job}\0${mailbox.done}`);
  return hash.digest("hex").slice(0, 16);
}

/** Names the lock of a file that belongs to one mailbox alone, by the file's real path. */
export function lockName(realPath: string): string {
  return `${createHash("sha256").update(realPath).digest("hex").slice(0, 16)}.lock`;
}

export const stateFolder = (stateDirectory: string): string => join(stateDirectory, "bridges");
