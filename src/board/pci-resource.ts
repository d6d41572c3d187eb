/**
 * A PCI function's address ranges, as its `resource` file in sysfs gives them: a line each of
 * `start end flags`, six BARs first. Flags are those of include/linux/ioport.h.
 */

/** BARs of a function of the common type. A 64-bit BAR takes two; the second one is not listed. */
const BARS_MAX = 6;

const FLAG = {
  io: 0x100n,
  memory: 0x200n,
  prefetchable: 0x2000n,
  memory64: 0x10_0000n,
  disabled: 0x1000_0000n,
  unset: 0x2000_0000n,
} as const;

export type PciBar = {
  readonly index: number;
  readonly kind: "memory" | "io";
  readonly is64Bit: boolean;
  readonly isPrefetchable: boolean;
  /** Physical; 0 where it is not assigned. */
  readonly address: bigint;
  readonly bytes: bigint;
  /** False where the kernel found no room for it, and the driver cannot use it. */
  readonly isAssigned: boolean;
  readonly isDisabled: boolean;
};

/**
 * The BARs that a `resource` file lists. One that the function has and that is missing here was
 * given up by the kernel, which clears what it could not place.
 */
export function parseResource(text: string): readonly PciBar[] {
  return text
    .split("\n")
    .slice(0, BARS_MAX)
    .flatMap((line, index) => barOf(line, index) ?? []);
}

function barOf(line: string, index: number): PciBar | null {
  const form = /^(0x[0-9a-f]+) (0x[0-9a-f]+) (0x[0-9a-f]+)$/i.exec(line.trim());
  if (form === null) return null;
  const [start = 0n, end = 0n, flags = 0n] = form.slice(1).map(BigInt);
  const has = (flag: bigint): boolean => (flags & flag) !== 0n;
  if (!has(FLAG.io) && !has(FLAG.memory)) return null;
  const isAssigned = start !== 0n && end >= start && !has(FLAG.unset);
  return {
    index,
    kind: has(FLAG.memory) ? "memory" : "io",
    is64Bit: has(FLAG.memory64),
    isPrefetchable: has(FLAG.prefetchable),
    address: isAssigned ? start : 0n,
    bytes: end >= start ? end - start + 1n : 0n,
    isAssigned,
    isDisabled: has(FLAG.disabled),
  };
}
