/**
 * A file that is written beside another, to take its place by rename: nobody ever sees half of it.
 * What is the same wherever that is done: where it goes, what it is called, whose it is.
 */
import { createHash } from "node:crypto";
import {
  fchmodSync,
  fchownSync,
  fstatSync,
  readlinkSync,
  realpathSync,
  unlinkSync,
  type Stats,
} from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { fileCall, FileError } from "./file-error.ts";

const MODE_BITS = 0o7777;

/** Symbolic links that are followed one by one, as many as Linux follows in one path. */
const LINKS_MAX = 40;

/**
 * Where the path leads in the end, so that a symbolic link stays one when what it names is
 * replaced, or made. The file itself need not exist; its folder must. Throws FileError.
 */
export function resolveTarget(path: string): string {
  let place = path;
  for (let links = 0; links <= LINKS_MAX; links += 1) {
    try {
      return fileCall("open", path, () => realpathSync.native(place));
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== "ENOENT") throw error;
    }
    const folder = fileCall("open", path, () => realpathSync.native(dirname(place)));
    const target = join(folder, basename(place));
    const link = linkAt(target);
    if (link === null) return target;
    // Not join(), which would take a `..` behind another link for that link's own folder.
    place = isAbsolute(link) ? link : `${folder}/${link}`;
  }
  throw new FileError({ code: "ELOOP", call: "open", path, detail: "too many symbolic links" });
}

/** What the symbolic link says; null where there is none. Throws FileError. */
function linkAt(path: string): string | null {
  try {
    return fileCall("readlink", path, () => readlinkSync(path));
  } catch (error) {
    const code = error instanceof FileError ? error.code : "";
    if (code === "ENOENT" || code === "EINVAL") return null;
    throw error;
  }
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
