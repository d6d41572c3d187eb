/**
 * The files of a machine under a root folder: `/`, or a tree that was recorded or built. What is
 * not
 * there is null; what may not be read is null too, and is remembered, so that the report can say
 * what it did not see.
 */
import {
  accessSync,
  constants,
  lstatSync,
  readlinkSync,
  realpathSync,
  statSync,
  type Stats,
} from "node:fs";
import { join, relative } from "node:path";
import { FileError, toFileError } from "../base/mod.ts";
import { readBytes, readLinkName, readNames, readText } from "../board/mod.ts";

/** Something that could not be read. Its path is without the `/` it begins with. */
export type Denied = { readonly path: string; readonly code: string };

/** Who looks. */
export type User = { readonly uid: number; readonly groups: readonly number[] };

export type MachineFiles = {
  readonly root: string;
  readonly isLive: boolean;
  /** Up to 64 KiB, without the newline at its end. */
  readonly text: (path: string) => string | null;
  /** Up to LONG_BYTES_MAX. */
  readonly longText: (path: string) => string | null;
  readonly bytes: (path: string, bytesMax: number) => Buffer | null;
  readonly names: (path: string) => readonly string[];
  /** The last part of what a link points to. */
  readonly linkName: (path: string) => string | null;
  /** All of what a link points to. */
  readonly linkTarget: (path: string) => string | null;
  /** A path with all links followed, again without the first `/`. */
  readonly realPath: (path: string) => string | null;
  readonly stat: (path: string) => Stats | null;
  readonly exists: (path: string) => boolean;
  /** Whether the user may open it so; false where it is not there. */
  readonly mayOpen: (path: string, want: "read" | "write") => boolean;
  readonly denied: () => readonly Denied[];
  /** Remembers what was refused in other ways. */
  readonly deny: (denied: Denied) => void;
};

/** Paths that are remembered; a machine that refuses more refuses everything. */
const DENIED_MAX = 64;

/** /proc/iomem and /proc/mounts of a large machine have some hundred kilobytes. */
const LONG_BYTES_MAX = 4 * 1024 * 1024;

export function createMachineFiles(options: {
  readonly root: string;
  readonly user: User;
}): MachineFiles {
  const { root, user } = options;
  const isLive = root === "/";
  const denied = new Map<string, string>();
  const deny = ({ path, code }: Denied): void => {
    if (denied.size < DENIED_MAX) denied.set(path, code);
  };
  const reading = <T>(path: string, action: () => T | null): T | null => {
    try {
      return action();
    } catch (error) {
      const { code } = error instanceof FileError ? error : toFileError("read", path, error);
      deny({ path, code });
      return null;
    }
  };
  const quietly = <T>(action: () => T): T | null => {
    try {
      return action();
    } catch {
      return null;
    }
  };
  const stat = (path: string): Stats | null => quietly(() => statSync(join(root, path)));
  return {
    root,
    isLive,
    text: (path) => reading(path, () => readText(root, path)),
    longText: (path) =>
      reading(path, () => readBytes(root, path, LONG_BYTES_MAX)?.toString("utf8") ?? null),
    bytes: (path, bytesMax) => reading(path, () => readBytes(root, path, bytesMax)),
    names: (path) => reading(path, () => readNames(root, path)) ?? [],
    linkName: (path) => quietly(() => readLinkName(root, path)),
    linkTarget: (path) => quietly(() => readlinkSync(join(root, path))),
    realPath: (path) => quietly(() => relative(realpathSync(root), realpathSync(join(root, path)))),
    stat,
    exists: (path) => quietly(() => lstatSync(join(root, path))) !== null,
    mayOpen: (path, want) => {
      const found = stat(path);
      if (found === null) return false;
      return isLive ? mayAccess(join(root, path), want) : mayByMode(found, want, user);
    },
    denied: () => [...denied].map(([path, code]) => ({ path, code })),
    deny,
  };
}

/** The kernel knows of access lists and capabilities; it says yes or no. */
function mayAccess(path: string, want: "read" | "write"): boolean {
  try {
    accessSync(path, want === "read" ? constants.R_OK : constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** In a recorded tree the files belong to who unpacked it: as root's, by their mode alone. */
function mayByMode({ mode }: Stats, want: "read" | "write", user: User): boolean {
  if (user.uid === 0) return true;
  return (mode & (want === "read" ? 0o004 : 0o002)) !== 0;
}
