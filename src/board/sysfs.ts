/**
 * Reads small files of /sys and /proc under a root folder: `/`, or a tree that stands for it. What
 * is not there is null; every other failure is a FileError. Nothing is cached.
 */
import { closeSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { fileCall, FileError } from "../base/mod.ts";

/** An attribute of sysfs is a page at most; longer files of /proc are read up to here. */
const TEXT_BYTES_MAX = 64 * 1024;

/** What says that a file is not there, or its process or device has just gone. */
const GONE = new Set(["ENOENT", "ENOTDIR", "ENODEV", "ENXIO", "ESRCH"]);

/** Null where `action` finds nothing there. Throws FileError otherwise. */
export function ifThere<T>(call: string, path: string, action: () => T): T | null {
  try {
    return fileCall(call, path, action);
  } catch (error) {
    if (error instanceof FileError && GONE.has(error.code)) return null;
    throw error;
  }
}

/** The first bytes of a file, as many as there are up to `bytesMax`. */
export function readBytes(root: string, path: string, bytesMax: number): Buffer | null {
  const whole = join(root, path);
  return ifThere("read", whole, () => {
    const file = openSync(whole, "r");
    try {
      const bytes = Buffer.alloc(bytesMax);
      let length = 0;
      while (length < bytesMax) {
        const read = readSync(file, bytes, length, bytesMax - length, length);
        if (read === 0) break;
        length += read;
      }
      return bytes.subarray(0, length);
    } finally {
      closeSync(file);
    }
  });
}

/** A file's text without the newline at its end. */
export function readText(root: string, path: string): string | null {
  const bytes = readBytes(root, path, TEXT_BYTES_MAX);
  return bytes === null ? null : bytes.toString("utf8").replace(/\n$/, "");
}

/** The last part of what a link points to, e.g. the driver's name of `driver`. */
export function readLinkName(root: string, path: string): string | null {
  const whole = join(root, path);
  const target = ifThere("readlink", whole, () => readlinkSync(whole));
  return target === null ? null : basename(target);
}

/** The names in a folder, sorted; none where it is not there. */
export function readNames(root: string, path: string): readonly string[] {
  const whole = join(root, path);
  return ifThere("readdir", whole, () => readdirSync(whole).sort()) ?? [];
}
