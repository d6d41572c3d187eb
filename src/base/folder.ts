import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileCall, FileError } from "./file-error.ts";

/**
 * Makes the folder, and those above it that are missing, all with this mode less the umask. One
 * that is there stays as it is. Throws FileError for the first that cannot be made.
 *
 * Not `mkdirSync` with `recursive`, which Node 20 never returns from where a folder that exists
 * answers ENOENT for what is to be made in it, as those of /proc do.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const missing = [path];
  for (let above = dirname(path); isMissing(above); above = dirname(above)) missing.push(above);
  for (const folder of missing.reverse()) makeOne(folder, mode);
}

function makeOne(folder: string, mode: number): void {
  try {
    fileCall("mkdir", folder, () => mkdirSync(folder, { mode }));
  } catch (error) {
    const isThere = error instanceof FileError && error.code === "EEXIST" && isFolder(folder);
    if (!isThere) throw error;
  }
}

/** False for what cannot be looked at as well: mkdir(2) tells why. */
function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined && dirname(path) !== path;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
