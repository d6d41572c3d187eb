/**
 * What a mailbox keeps over a restart where its done file cannot be read back: the last done
 * record, in a small file of the state folder. It belongs to the folder that holds the done file,
 * so that a mailbox that was made anew under an old path begins anew.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

import { fileCall, FileError, resolveTarget } from "../base/mod.ts";
import { crc32c } from "../records/mod.ts";

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

/** What is kept of a mailbox. */
export type KeptState = { readonly folder: FolderIdentity; readonly done: Uint8Array };

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

const MAGIC = Buffer.from("HFSTATE1", "latin1");
const DONE_BYTES_OFFSET = 8;
const DEV_OFFSET = 16;
const INO_OFFSET = 24;
const BIRTH_OFFSET = 32;
const DONE_OFFSET = 40;
/** The longer of the two done records. */
const DONE_BYTES_MAX = 128;
const CRC_OFFSET = DONE_OFFSET + DONE_BYTES_MAX;

/** Bytes of a state file. */
export const STATE_BYTES = CRC_OFFSET + 4;

export function encodeState({ folder, done }: KeptState): Uint8Array {
  const bytes = Buffer.alloc(STATE_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(done.length, DONE_BYTES_OFFSET);
  bytes.writeBigUInt64LE(folder.dev, DEV_OFFSET);
  bytes.writeBigUInt64LE(folder.ino, INO_OFFSET);
  bytes.writeBigUInt64LE(folder.birthNs, BIRTH_OFFSET);
  bytes.set(done, DONE_OFFSET);
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, CRC_OFFSET)), CRC_OFFSET);
  return bytes;
}

/** Null where the bytes are no state file, or one that a power failure tore. */
export function decodeState(given: Uint8Array): KeptState | null {
  if (given.length !== STATE_BYTES) return null;
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  if (bytes.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) !== 0) return null;
  if (bytes.readUInt32LE(CRC_OFFSET) !== crc32c(bytes.subarray(0, CRC_OFFSET))) return null;
  const doneBytes = bytes.readUInt32LE(DONE_BYTES_OFFSET);
  if (doneBytes > DONE_BYTES_MAX) return null;
  return {
    folder: {
      dev: bytes.readBigUInt64LE(DEV_OFFSET),
      ino: bytes.readBigUInt64LE(INO_OFFSET),
      birthNs: bytes.readBigUInt64LE(BIRTH_OFFSET),
    },
    done: Uint8Array.from(bytes.subarray(DONE_OFFSET, DONE_OFFSET + doneBytes)),
  };
}

/** Null where nothing is kept. Throws FileError where it cannot be read. */
export function readState(path: string): KeptState | null {
  try {
    return decodeState(fileCall("read", path, () => readFileSync(path)));
  } catch (error) {
    if (error instanceof FileError && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Writes it in one go, which a killed process cannot leave half done. Throws FileError. */
export function writeState(path: string, state: KeptState): void {
  const flags = constants.O_WRONLY | constants.O_CREAT;
  const file = fileCall("open", path, () => openSync(path, flags, 0o600));
  try {
    const bytes = encodeState(state);
    const written = fileCall("write", path, () => writeSync(file, bytes, 0, bytes.length, 0));
    if (written === bytes.length) return;
    const detail = `took ${String(written)} of ${String(bytes.length)} bytes`;
    throw new FileError({ code: "SHORT", call: "write", path, detail });
  } finally {
    closeSync(file);
  }
}
