/**
 * The address ranges that reach a die: the windows of bridges, and what the firmware gave a bus.
 */
import type { PciFunction } from "../../board/mod.ts";
import type { MachineFiles } from "../machine-files.ts";

/** First and last address. */
export type Range = { readonly start: bigint; readonly end: bigint };

/** A PCI bridge. A window that is closed is null. */
export type BridgeFacts = {
  readonly address: string;
  readonly prefetchable: Range | null;
  readonly memory: Range | null;
};

/** A range of a root bus, as /proc/iomem has it. */
export type RootWindow = Range & { readonly bus: string };

/** Lines at the end of a bridge's `resource`: I/O, memory, prefetchable memory, and CardBus's. */
const WINDOW_LINES = 4;

/** Base and sub-class of a PCI-to-PCI bridge. */
const BRIDGE_CLASS = 0x0604;

export const isBridge = (found: PciFunction): boolean => found.class >> 8 === BRIDGE_CLASS;

export const bytesOf = ({ start, end }: Range): bigint => end - start + 1n;

/** The bridges among these functions, with their windows. */
export function readBridges(
  files: MachineFiles,
  functions: readonly PciFunction[],
): readonly BridgeFacts[] {
  return functions.filter(isBridge).map(({ name }) => {
    const text = files.text(`sys/bus/pci/devices/${name}/resource`) ?? "";
    const [, memory = null, prefetchable = null] = text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-WINDOW_LINES)
      .map(rangeOf);
    return { address: name, memory, prefetchable };
  });
}

/** A line of `resource`: start, end, flags. All zeros where the window is closed. */
function rangeOf(line: string): Range | null {
  const [, start, end] = /^(0x[0-9a-f]{1,16}) (0x[0-9a-f]{1,16}) /i.exec(line.trim()) ?? [];
  if (start === undefined || end === undefined) return null;
  const range = { start: BigInt(start), end: BigInt(end) };
  return range.end > range.start ? range : null;
}

/** Ranges of root buses. To users other than root all of them read as zero, and are left out. */
export function readRootWindows(files: MachineFiles): readonly RootWindow[] {
  const text = files.longText("proc/iomem") ?? "";
  return text.split("\n").flatMap((line) => {
    const match = /^([0-9a-f]{1,16})-([0-9a-f]{1,16}) : PCI Bus ([0-9a-f:]+)$/i.exec(line);
    if (match === null) return [];
    const [, start = "", end = "", bus = ""] = match;
    const range = { start: BigInt(`0x${start}`), end: BigInt(`0x${end}`), bus };
    if (range.end === 0n) files.deny({ path: "proc/iomem", code: "EACCES" });
    return range.end > range.start ? [range] : [];
  });
}
