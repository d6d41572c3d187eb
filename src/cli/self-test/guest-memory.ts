/** A file that stands for a guest's RAM: sparse, read and written by guest-physical address. */
import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { invariant } from "../../base/mod.ts";

const GIB = 2 ** 30;

/** RAM above the PCI hole begins here, whatever there is below it. */
export const HIGH_WINDOW = 4 * GIB;

/** Where the hole begins: what qemu's q35 machine has by default. */
export const LOW_BYTES = 2 * GIB;

/** Bytes of RAM: half of them below the hole, half above. */
export const MEMORY_BYTES = 4 * GIB;

export type GuestMemory = {
  readonly path: string;
  /** At a guest-physical address inside one of the windows. */
  readonly write: (address: number, bytes: Uint8Array) => void;
  readonly read: (address: number, bytes: number) => Uint8Array;
  readonly close: () => void;
};

/** Makes the file. It takes room only where it is written. */
export function createGuestMemory(path: string): GuestMemory {
  const file = openSync(path, "wx+", 0o600);
  ftruncateSync(file, MEMORY_BYTES);
  return {
    path,
    write: (address, bytes) => {
      const written = writeSync(file, bytes, 0, bytes.length, fileOffset(address, bytes.length));
      invariant(written === bytes.length, "the file system took all of the bytes");
    },
    read: (address, bytes) => {
      const found = new Uint8Array(bytes);
      readSync(file, found, 0, bytes, fileOffset(address, bytes));
      return found;
    },
    close: () => closeSync(file),
  };
}

function fileOffset(address: number, bytes: number): number {
  const isLow = address + bytes <= LOW_BYTES;
  const isHigh = address >= HIGH_WINDOW && address + bytes <= HIGH_WINDOW + LOW_BYTES;
  invariant(isLow || isHigh, "the range lies in one window");
  return isLow ? address : address - (HIGH_WINDOW - LOW_BYTES);
}
