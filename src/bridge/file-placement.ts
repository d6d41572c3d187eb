/**
 * Puts a record in its place for a producer to read: whole, at once. A plain file is replaced by
 * rename, so that nobody sees half of it; what is no plain file gets one write(2).
 */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";

import {
  besideName,
  fileCall,
  FileError,
  removeQuietly,
  resolveTarget,
  takeAfter,
} from "../base/mod.ts";
import type { PayloadOutput } from "../owner/mod.ts";
import { identityOf, isOnKernelFileSystem, type FileIdentity } from "./file-identity.ts";

export type Placement = PayloadOutput["placement"];

/** How the file has to be written. One that does not exist is a plain one. Throws FileError. */
export function placementOf(path: string): Placement {
  const stats = fileCall("stat", path, () => statSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) return "rename";
  return stats.isFile() && !isOnKernelFileSystem(path) ? "rename" : "in_place";
}

/** Puts the record in place and tells what file it is then. Throws FileError. */
export function placeRecord(path: string, record: Uint8Array): FileIdentity {
  return placementOf(path) === "rename" ? replace(path, record) : writeOver(path, record);
}

function writeOver(path: string, record: Uint8Array): FileIdentity {
  // A FIFO that nobody reads must not block, and nothing is to be cut or made here.
  const flags = constants.O_WRONLY | constants.O_NONBLOCK;
  const file = fileCall("open", path, () => openSync(path, flags));
  try {
    writeWhole(file, path, record);
    return identityOf(fileCall("fstat", path, () => fstatSync(file)));
  } finally {
    closeSync(file);
  }
}

function replace(path: string, record: Uint8Array): FileIdentity {
  const target = resolveTarget(path);
  const old = fileCall("stat", target, () => statSync(target, { throwIfNoEntry: false }));
  const beside = besideName(target, "done");
  // What a daemon that was killed has left; `wx` below follows no link that lies in wait there.
  removeQuietly(beside);
  const file = fileCall("open", beside, () => openSync(beside, "wx", 0o666));
  try {
    writeWhole(file, beside, record);
    if (old !== undefined) takeAfter(file, beside, old);
    const identity = identityOf(fileCall("fstat", beside, () => fstatSync(file)));
    fileCall("rename", target, () => renameSync(beside, target));
    return identity;
  } catch (error) {
    removeQuietly(beside);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** One write(2): the reader of a kernel's file gets what one call brought. */
function writeWhole(file: number, path: string, record: Uint8Array): void {
  const written = fileCall("write", path, () => writeSync(file, record));
  if (written === record.length) return;
  const detail = `took ${String(written)} of ${String(record.length)} bytes in one write`;
  throw new FileError({ code: "SHORT", call: "write", path, detail });
}
