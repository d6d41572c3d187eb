/**
 * A file that is written beside another, to take its place by rename: nobody ever sees half of it.
 * What is the same wherever that is done: where it goes, what it is called, whose it is.
 */
import { createHash } from "node:crypto";
import { fchmodSync, fchownSync, fstatSync, realpathSync, unlinkSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileCall, FileError } from "./file-error.ts";

const MODE_BITS = 0o7777;

/**
 * Where the path leads in the end, so that a symbolic link stays one when what it names is
 * replaced. The file itself need not exist. Throws FileError.
 */
export function resolveTarget(path: string): string {
  try {
    return fileCall("open", path, () => realpathSync.native(path));
  } catch (error) {
    if (!(error instanceof FileError) || error.code !== "ENOENT") throw error;
  }
  const folder = fileCall("open", path, () => realpathSync.native(dirname(path)));
  return join(folder, basename(path));
}

/**
 * The path beside a resolved target, `.holdfast-<kind>-<hash>`. A hash, since the target's own name
 * may be as long as names can be.
 */
export function besideName(target: string, kind: string): string {
  const hash = createHash("sha256").update(basename(target)).digest("hex").slice(0, 16);
  return join(dirname(target), `.holdfast-${kind}-${hash}`);
}

/**
 * Gives the open file at `path` the owner and mode of the one that it is to replace: who could read
 * that can read this. Throws FileError.
 */
export function takeAfter(file: number, path: string, old: Stats): void {
  const now = fileCall("fstat", path, () => fstatSync(file));
  const isGivenAway = now.uid !== old.uid || now.gid !== old.gid;
  if (isGivenAway) {
    try {
      fchownSync(file, old.uid, old.gid);
    } catch {
      // Only root may give a file away; then it stays ours, as after any other program's rename.
    }
  }
  // Last, since a change of owner takes bits of the mode away.
  const mode = old.mode & MODE_BITS;
  if (isGivenAway || (now.mode & MODE_BITS) !== mode) {
    fileCall("fchmod", path, () => fchmodSync(file, mode));
  }
}

/** Removes what was never shown. What cannot be removed harms nobody. */
export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    return;
  }
}
