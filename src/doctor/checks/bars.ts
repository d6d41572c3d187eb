import { GK210_DEVICE, isSamePciAddress } from "../../board/mod.ts";
import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import { bytesOf, type Range } from "../facts/windows.ts";
import type { Finding } from "../finding.ts";
import { barNeeds, windowNeed, type BarNeed } from "./bar-needs.ts";
import { bytesText } from "./bytes-text.ts";
import { counted, dieText, occupantAddress } from "./wanted.ts";

/** Where 32-bit addresses end. */
const FOUR_GIB = 1n << 32n;

/** A GK210's in compute mode; some firmware makes it smaller. */
const GK210_BAR1_BYTES = 1n << 34n;

/** Registers and memory: without these two the driver does not take a die. */
const NEEDED_COUNT = 2;

/** Whether each die's BARs have addresses, and if not, what is too small and by how much. */
export const bars: Check = {
  id: "bars",
  title: "each die's BARs have addresses and are large enough",
  scope: "gpu",
  findings: ["bar-unassigned", "bridge-window", "above-4g", "root-window", "bar-small"],
  run: (facts) => {
    const dies = facts.dies.filter((die) => isMapped(facts, die));
    return [
      ...dies.flatMap((die) => unplaced(facts, die)),
      ...windows(facts),
      ...dies.flatMap((die) => small(die)),
    ];
  },
};

/** Behind a window only the die in it has an address; the others' turn is to come. */
function isMapped(facts: Facts, die: DieFacts): boolean {
  if (facts.slotKind !== "bar_swap") return true;
  const occupant = occupantAddress(facts);
  return occupant !== null && isSamePciAddress(occupant, die.address);
}

function missingBars(facts: Facts, die: DieFacts): readonly BarNeed[] {
  const needs = barNeeds(facts, die);
  // Of what was never read nothing is known: a sandbox may show no `resource` at all.
  if (!isShown(die) && !needs.some(({ isPlaced }) => isPlaced)) return [];
  // What the kernel forgot, and nobody else tells, has no size here.
  const lost = Array.from({ length: Math.max(0, NEEDED_COUNT - needs.length) }, (_, at) => ({
    index: needs.length + at,
    bytes: 0n,
    isPrefetchable: needs.length + at > 0,
    isPlaced: false,
  }));
  return [...needs, ...lost].filter(({ isPlaced }) => !isPlaced);
}

/** Whether sysfs had its `resource` at all. */
const isShown = ({ pci, rootBus }: DieFacts): boolean => pci.bars.length > 0 || rootBus !== null;

function unplaced(facts: Facts, die: DieFacts): readonly Finding[] {
  const missing = missingBars(facts, die);
  if (missing.length === 0) return [];
  const names = missing
    .map(({ index, bytes }) => `BAR${index}${bytes > 0n ? ` (${bytesText(bytes)})` : ""}`)
    .join(", ");
  return [
    {
      id: "bar-unassigned",
      severity: "problem",
      subject: die.address,
      message: `${dieText(die)}: no address for ${names}; the driver will say 'BAR1 is 0M @ 0x0'`,
      mend: "give it room: Above 4G Decoding in the firmware's setup, UEFI boot without CSM",
      command: `dmesg | grep ${die.address}; cat /sys/bus/pci/devices/${die.address}/resource`,
    },
  ];
}

/**
 * Of each root bus with a die that found no room: the first window, from the root, that is short.
 */
function windows(facts: Facts): readonly Finding[] {
  const short = facts.dies.filter(
    (die) =>
      die.rootBus !== null &&
      isMapped(facts, die) &&
      missingBars(facts, die).some(({ isPrefetchable }) => isPrefetchable),
  );
  const found = short.flatMap((die) => rootFinding(facts, die) ?? bridgeFinding(facts, die) ?? []);
  return [...new Map(found.map((each) => [`${each.id} ${each.subject ?? ""}`, each])).values()];
}

function rootFinding(facts: Facts, { rootBus }: DieFacts): Finding | null {
  const ranges = facts.rootWindows.filter(({ bus }) => bus === rootBus);
  if (ranges.length === 0) return null;
  const need = windowNeed(
    facts,
    facts.dies.filter((die) => die.rootBus === rootBus),
  );
  const high = ranges.filter(({ start }) => start >= FOUR_GIB);
  const largest = ranges.reduce((most, range) => max(most, bytesOf(range)), 0n);
  if (largest >= need) return null;
  const lack = `${bytesText(need)} needed, ${bytesText(need - largest)} missing`;
  if (high.length === 0) {
    return {
      id: "above-4g",
      severity: "problem",
      subject: `PCI Bus ${rootBus ?? ""}`,
      message:
        `the firmware gives this bus nothing above 4 GiB; its largest range is ` +
        `${bytesText(largest)}: ${lack}`,
      mend:
        "switch on Above 4G Decoding in the firmware's setup (also: MMIOH, 64-bit BAR), " +
        "UEFI boot without CSM",
      command: "grep 'PCI Bus' /proc/iomem",
    };
  }
  return {
    id: "root-window",
    severity: "problem",
    subject: `PCI Bus ${rootBus ?? ""}`,
    message: `the largest range of this bus is ${bytesText(largest)}: ${lack}`,
    mend:
      "raise MMIO High Size in the firmware's setup, or use fewer boards on this bus; " +
      "less RAM can help old boards",
    command: "grep 'PCI Bus' /proc/iomem",
  };
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

function bridgeFinding(facts: Facts, die: DieFacts): Finding | null {
  for (const address of die.bridges) {
    const bridge = facts.bridges.find((each) => each.address === address);
    if (bridge === undefined) continue;
    const behind = facts.dies.filter(({ bridges }) => bridges.includes(address));
    const need = windowNeed(facts, behind);
    const has = bridge.prefetchable === null ? 0n : bytesOf(bridge.prefetchable);
    if (has >= need) continue;
    return {
      id: "bridge-window",
      severity: "problem",
      subject: address,
      message:
        `the bridge's prefetchable window is ${windowText(bridge.prefetchable)}; ` +
        `${counted(behind.length, "die")} behind it need${behind.length === 1 ? "s" : ""} ` +
        `${bytesText(need)}, ` +
        `${bytesText(need - has)} missing`,
      mend:
        "let the kernel lay the windows out anew, with pci=realloc on its command line; " +
        "else the firmware's setup",
      command: `lspci -vv -s ${address} | grep -i prefetchable`,
    };
  }
  return null;
}

const windowText = (range: Range | null): string =>
  range === null
    ? "closed"
    : `${bytesText(bytesOf(range))} (0x${range.start.toString(16)}-0x${range.end.toString(16)})`;

function small(die: DieFacts): readonly Finding[] {
  const bar1 = die.pci.bars.find(({ index }) => index === 1);
  if (die.pci.device !== GK210_DEVICE || bar1?.isAssigned !== true) return [];
  if (bar1.bytes >= GK210_BAR1_BYTES) return [];
  return [
    {
      id: "bar-small",
      severity: "note",
      subject: die.address,
      message:
        `BAR1 of ${dieText(die)} is ${bytesText(bar1.bytes)}, where a K80 has 16 GiB: ` +
        `copies go through fewer addresses`,
      mend:
        "nothing stands in the way; a board in graphics mode is set back by NVIDIA's " +
        "gpumodeswitch",
      command: null,
    },
  ];
}
