/**
 * What a mailbox keeps over a restart where its done file cannot be read back: the last done
 * record, in a small file of the state folder. The file has two slots that are written in turn, so
 * that a write which a power failure tears leaves the one before it whole.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";

import { fileCall, FileError } from "../base/mod.ts";
import { crc32c } from "../records/mod.ts";
import type { FolderIdentity } from "./sequence-state.ts";

/** What is kept of a mailbox. */
export type KeptState = { readonly folder: FolderIdentity; readonly done: Uint8Array };

/** A state, and which write of its file it was, from 1. */
export type StateSlot = KeptState & { readonly generation: bigint };

const MAGIC = Buffer.from("HFSTATE2", "latin1");
const DONE_BYTES_OFFSET = 8;
const GENERATION_OFFSET = 16;
const DEV_OFFSET = 24;
const INO_OFFSET = 32;
const BIRTH_OFFSET = 40;
const DONE_OFFSET = 48;
/** The longer of the two done records. */
const DONE_BYTES_MAX = 128;
const CRC_OFFSET = DONE_OFFSET + DONE_BYTES_MAX;

/** Bytes of a slot. */
export const SLOT_BYTES = CRC_OFFSET + 4;

/** From one slot to the next: a page, so that no write of a disk or a cache touches both. */
export const SLOT_STRIDE_BYTES = 4096;

const SLOTS = 2;

export function encodeSlot({ folder, done, generation }: StateSlot): Uint8Array {
  const bytes = Buffer.alloc(SLOT_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(done.length, DONE_BYTES_OFFSET);
  bytes.writeBigUInt64LE(generation, GENERATION_OFFSET);
  bytes.writeBigUInt64LE(folder.dev, DEV_OFFSET);
  bytes.writeBigUInt64LE(folder.ino, INO_OFFSET);
  bytes.writeBigUInt64LE(folder.birthNs, BIRTH_OFFSET);
  bytes.set(done, DONE_OFFSET);
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, CRC_OFFSET)), CRC_OFFSET);
  return bytes;
}

/** Null where the bytes are no slot, or one that was never written or torn. */
export function decodeSlot(given: Uint8Array): StateSlot | null {
  if (given.length !== SLOT_BYTES) return null;
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  if (bytes.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) !== 0) return null;
  if (bytes.readUInt32LE(CRC_OFFSET) !== crc32c(bytes.subarray(0, CRC_OFFSET))) return null;
  const doneBytes = bytes.readUInt32LE(DONE_BYTES_OFFSET);
  if (doneBytes > DONE_BYTES_MAX) return null;
  return {
    generation: bytes.readBigUInt64LE(GENERATION_OFFSET),
    folder: {
      dev: bytes.readBigUInt64LE(DEV_OFFSET),
      ino: bytes.readBigUInt64LE(INO_OFFSET),
      birthNs: bytes.readBigUInt64LE(BIRTH_OFFSET),
    },
    done: Uint8Array.from(bytes.subarray(DONE_OFFSET, DONE_OFFSET + doneBytes)),
  };
}

/** What a state file holds: its newest whole slot. */
export type FoundState =
  | { readonly kind: "kept"; readonly slot: StateSlot }
  /** There is no such file. */
  | { readonly kind: "none" }
  /** There is one, and no slot in it is whole. */
  | { readonly kind: "damaged" };

/** A mailbox's state file, which one process writes. */
export class StateFile {
  readonly #path: string;
  /** Of the last write; null until the file was read. */
  #generation: bigint | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws FileError where it is there and cannot be read. */
  read(): FoundState {
    const found = readSlots(this.#path);
    this.#generation ??= found.kind === "kept" ? found.slot.generation : 0n;
    return found;
  }

  /**
   * Writes the older slot in one go, which a killed process cannot leave half done. One that fails
   * leaves the newer slot as it is, and so does the next try. Throws FileError.
   */
  write(state: KeptState): void {
    if (this.#generation === null) this.read();
    const generation = (this.#generation ?? 0n) + 1n;
    const at = Number(generation % BigInt(SLOTS)) * SLOT_STRIDE_BYTES;
    writeSlot(this.#path, encodeSlot({ ...state, generation }), at);
    this.#generation = generation;
  }
}

function readSlots(path: string): FoundState {
  let bytes: Buffer;
  try {
    bytes = fileCall("read", path, () => readFileSync(path));
  } catch (error) {
    if (error instanceof FileError && error.code === "ENOENT") return { kind: "none" };
    throw error;
  }
  let newest: StateSlot | null = null;
  for (let index = 0; index < SLOTS; index++) {
    const at = index * SLOT_STRIDE_BYTES;
    const slot = decodeSlot(bytes.subarray(at, at + SLOT_BYTES));
    if (slot !== null && slot.generation > (newest?.generation ?? 0n)) newest = slot;
  }
  return newest === null ? { kind: "damaged" } : { kind: "kept", slot: newest };
}

function writeSlot(path: string, bytes: Uint8Array, at: number): void {
  const flags = constants.O_WRONLY | constants.O_CREAT;
  const file = fileCall("open", path, () => openSync(path, flags, 0o600));
  try {
    const written = fileCall("write", path, () => writeSync(file, bytes, 0, bytes.length, at));
    if (written === bytes.length) return;
    const detail = `took ${String(written)} of ${String(bytes.length)} bytes`;
    throw new FileError({ code: "SHORT", call: "write", path, detail });
  } finally {
    closeSync(file);
  }
}
