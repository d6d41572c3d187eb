/** What tells one file, and one state of it, from another. */
import { statfsSync } from "node:fs";

import { fileCall } from "../base/mod.ts";

export type FileIdentity = {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  /** A rename changes this one alone, even onto the name that the file had before. */
  readonly ctimeMs: number;
};

export const identityOf = ({ dev, ino, size, mtimeMs, ctimeMs }: FileIdentity): FileIdentity => ({
  dev,
  ino,
  size,
  mtimeMs,
  ctimeMs,
});

/** One file. */
export const isSameFile = (one: FileIdentity, other: FileIdentity): boolean =>
  one.dev === other.dev && one.ino === other.ino;

/** One file whose content was not written since; its name may have been. */
export const isSameContent = (one: FileIdentity, other: FileIdentity): boolean =>
  isSameFile(one, other) && one.size === other.size && one.mtimeMs === other.mtimeMs;

/** One file that was neither written nor put in place since. */
export const isUntouched = (one: FileIdentity, other: FileIdentity): boolean =>
  isSameContent(one, other) && one.ctimeMs === other.ctimeMs;

/**
 * File systems whose files are calls into the kernel, by statfs's number (linux/magic.h): one
 * read(2) or write(2) is one message, sizes and times say nothing, and nothing can be renamed.
 */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x62656572, // sysfs
  0x9fa0, // proc
  0x62656570, // configfs
  0x73636673, // securityfs
]);

/** True where the path lies on such a file system. Throws FileError. */
export const isOnKernelFileSystem = (path: string): boolean =>
  KERNEL_FILE_SYSTEMS.has(fileCall("statfs", path, () => statfsSync(path).type));
