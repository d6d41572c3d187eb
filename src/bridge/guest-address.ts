/**
 * Guest-physical addresses and the guest's RAM file. A guest's RAM is one file without holes, but
 * the guest sees it in two parts: from 0 up to the PCI hole, and from 4 GiB on (DESIGN section 6,
 * rule 5).
 */
import { err, ok, type Result } from "../base/mod.ts";

/** Where RAM goes on behind the PCI hole. */
export const RAM_HIGH_BASE = 2n ** 32n;

/** RAM below the hole unless it is said otherwise: what qemu's q35 gives a larger guest. */
export const RAM_LOW_BYTES = 2 ** 31;

export type RamLayout = {
  /** Bytes of the RAM file. */
  readonly ramBytes: number;
  /** RAM below the hole; the file may be smaller. */
  readonly ramLowBytes: number;
};

/** Where the range lies in the RAM file, or why it does not lie there: one line. */
export function ramOffset(
  address: bigint,
  bytes: number,
  { ramBytes, ramLowBytes }: RamLayout,
): Result<number, string> {
  const lowBytes = BigInt(Math.min(ramLowBytes, ramBytes));
  const highBytes = BigInt(ramBytes) - lowBytes;
  const end = address + BigInt(bytes);
  if (end <= lowBytes) return ok(Number(address));
  const highEnd = RAM_HIGH_BASE + highBytes;
  if (address >= RAM_HIGH_BASE && end <= highEnd) {
    return ok(Number(address - RAM_HIGH_BASE + lowBytes));
  }
  const high = highBytes === 0n ? "" : ` and ${hex(RAM_HIGH_BASE)}..${hex(highEnd - 1n)}`;
  return err(
    `${bytes} bytes at guest address ${hex(address)} are not all in the guest's RAM: ` +
      (lowBytes === 0n ? "its file is empty" : `it lies at 0x0..${hex(lowBytes - 1n)}${high}`),
  );
}

const hex = (address: bigint): string => `0x${address.toString(16)}`;
