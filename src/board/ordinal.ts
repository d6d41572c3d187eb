import type { BoardDie, CountedDevice } from "./board.ts";
import { isSamePciAddress } from "./pci-address.ts";

/**
 * The driver's ordinal of a die, found by its PCI address; null where the driver has it not. The
 * driver counts in an order of its own, and only what is bound, so ordinal 0 is any die. Devices
 * without addresses, which the software GPU has, stand for the dies in turn.
 */
export function ordinalByAddress(die: BoardDie, devices: readonly CountedDevice[]): number | null {
  const found = devices.find(
    ({ pciAddress }) => pciAddress !== null && isSamePciAddress(pciAddress, die.address),
  );
  if (found !== undefined) return found.ordinal;
  if (devices.some(({ pciAddress }) => pciAddress !== null)) return null;
  return devices[die.die % devices.length]?.ordinal ?? null;
}
