/**
 * Where a PCI function sits. Everybody writes it in a way of their own: sysfs `0000:05:00.0`, the
 * CUDA driver `00000000:05:00.0` or in capitals, the kernel's log `PCI:0000:05:00`.
 */
export type PciAddress = {
  /** 0 to 2^32-1; beyond 0xffff on machines with storage controllers of some sorts. */
  readonly domain: number;
  /** 0 to 255. */
  readonly bus: number;
  /** 0 to 31. */
  readonly device: number;
  /** 0 to 7. */
  readonly function: number;
};

const FORM = /^(?:PCI:)?(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([01]?[0-9a-f])(?:\.([0-7]))?$/i;

/** Reads any of the forms above; domain and function are 0 where they are left out. */
export function parsePciAddress(text: string): PciAddress | null {
  const [, domain = "0", bus, device, fn = "0"] = FORM.exec(text.trim()) ?? [];
  if (bus === undefined || device === undefined) return null;
  return {
    domain: Number.parseInt(domain, 16),
    bus: Number.parseInt(bus, 16),
    device: Number.parseInt(device, 16),
    function: Number(fn),
  };
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");

/** As sysfs names it, e.g. `0000:05:00.0`. */
export const formatPciAddress = (address: PciAddress): string =>
  `${hex(address.domain, 4)}:${hex(address.bus, 2)}:${hex(address.device, 2)}.${address.function}`;

/** Negative, zero or positive, in the order of the bus. */
export const comparePciAddresses = (a: PciAddress, b: PciAddress): number =>
  a.domain - b.domain || a.bus - b.bus || a.device - b.device || a.function - b.function;

/** Whether two texts, each in any of the forms, name one function; false where one names none. */
export function isSamePciAddress(a: string, b: string): boolean {
  const [first, second] = [parsePciAddress(a), parsePciAddress(b)];
  return first !== null && second !== null && comparePciAddresses(first, second) === 0;
}
