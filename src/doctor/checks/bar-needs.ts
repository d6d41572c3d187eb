/** How large a die's BARs are, placed or not: from sysfs, the kernel's log, or the kind of die. */
import { GK210_DEVICE } from "../../board/mod.ts";
import type { DieFacts, Facts } from "../facts.ts";

export type BarNeed = {
  readonly index: number;
  readonly bytes: bigint;
  readonly isPrefetchable: boolean;
  readonly isPlaced: boolean;
};

const MIB = 1024n * 1024n;

/** What a GK210 asks for in its compute mode: lspci of any K80. */
const GK210_BARS: readonly Omit<BarNeed, "isPlaced">[] = [
  { index: 0, bytes: 16n * MIB, isPrefetchable: false },
  { index: 1, bytes: 16n * 1024n * MIB, isPrefetchable: true },
  { index: 3, bytes: 32n * MIB, isPrefetchable: true },
];

/**
 * The memory BARs of a die. The kernel keeps the size of one that it could not place, or, up to
 * version 6.15 or so, forgets it altogether; then the log or the kind of die tells.
 */
export function barNeeds({ log }: Facts, die: DieFacts): readonly BarNeed[] {
  const needs = new Map<number, BarNeed>();
  const known = die.pci.device === GK210_DEVICE ? GK210_BARS : [];
  for (const bar of known) needs.set(bar.index, { ...bar, isPlaced: false });
  for (const bar of loggedBars(log.lines, die.address)) needs.set(bar.index, bar);
  for (const bar of die.pci.bars) {
    if (bar.kind !== "memory") continue;
    const { index, bytes, isPrefetchable, isAssigned } = bar;
    if (bytes > 0n) needs.set(index, { index, bytes, isPrefetchable, isPlaced: isAssigned });
  }
  return [...needs.values()].sort((a, b) => a.index - b.index);
}

/** `BAR 1 [mem size 0x400000000 64bit pref]: …`, `BAR 1: no space for [mem size 0x400000000 …]`. */
const UNPLACED =
  /\bBAR (\d)(?: |: no space for |: failed to assign )\[mem size (0x[0-9a-f]+)([^\]]*)\]/i;

function loggedBars(lines: Facts["log"]["lines"], address: string): readonly BarNeed[] {
  return lines.flatMap(({ text }) => {
    if (!text.includes(`pci ${address}: `)) return [];
    const [, index, size, flags = ""] = UNPLACED.exec(text) ?? [];
    if (index === undefined || size === undefined) return [];
    const isPrefetchable = flags.includes("pref");
    return [{ index: Number(index), bytes: BigInt(size), isPrefetchable, isPlaced: false }];
  });
}

/** Bridge windows begin and end on whole mebibytes. */
const WINDOW_STEP = MIB;

/** The least prefetchable window that holds these dies' BARs, however they are laid out. */
export function windowNeed(facts: Facts, dies: readonly DieFacts[]): bigint {
  return dies.reduce((sum, die) => {
    const bytes = barNeeds(facts, die)
      .filter(({ isPrefetchable }) => isPrefetchable)
      .reduce((total, bar) => total + bar.bytes, 0n);
    return sum + ((bytes + WINDOW_STEP - 1n) / WINDOW_STEP) * WINDOW_STEP;
  }, 0n);
}
