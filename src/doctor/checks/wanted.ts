/** Which of the facts several checks go by. */
import { isSamePciAddress } from "../../board/mod.ts";
import type { LibcudaReport } from "../../gpu-cuda/mod.ts";
import type { DieFacts, Facts } from "../facts.ts";
import type { Severity } from "../finding.ts";
import type { ProbeResult } from "../prober.ts";

export type LoadedLibcuda = Extract<LibcudaReport, { readonly state: "loaded" }>;

/** What the driver's library said; null where it was not loaded, or not asked. */
export function loadedLibcuda({ libcuda }: Facts): LoadedLibcuda | null {
  return libcuda.state === "libcuda" && libcuda.report.state === "loaded" ? libcuda.report : null;
}

/** The same where the driver was started too: only then its list of devices says anything. */
export function startedLibcuda(facts: Facts): StartedLibcuda | null {
  const report = loadedLibcuda(facts);
  const initCode = report?.initCode ?? null;
  return report === null || initCode === null ? null : { ...report, initCode };
}

export type StartedLibcuda = LoadedLibcuda & { readonly initCode: number };

/** The driver's node of a die. */
const DIE_NODE = /^\/dev\/nvidia\d+$/;

/**
 * Whether the machine has a GPU, by the bus, by the driver, or in a container by the nodes that it
 * was given: a sandbox may hide the bus.
 */
export const hasGpu = (facts: Facts): boolean =>
  facts.dies.length > 0 ||
  (startedLibcuda(facts)?.devices.length ?? 0) > 0 ||
  (facts.runtime.isContainer && facts.nodes.nodes.some(({ path }) => DIE_NODE.test(path)));

/** Drivers that hold a device for somebody else, on purpose. */
export const PLACEHOLDERS: ReadonlySet<string> = new Set([
  "vfio-pci",
  "pci-stub",
  "uio_pci_generic",
]);

/** Whether somebody keeps the die from the host's driver: for a guest, mostly. */
export function isGivenAway({ pci, override }: DieFacts): boolean {
  return PLACEHOLDERS.has(pci.driver ?? probedText(override) ?? "");
}

/** The dies that are ours to use, or could be. */
export const ourDies = (facts: Facts): readonly DieFacts[] =>
  facts.dies.filter((die) => isBoardDie(facts, die) || !isGivenAway(die));

/** Whether the die is one of those behind the window; all are, where the slot does not say. */
export function isBoardDie({ slotKind, slot: { answer } }: Facts, { address }: DieFacts): boolean {
  if (slotKind !== "bar_swap") return false;
  const named = answer.state === "slot" ? answer.answer.addresses.filter(isNamed) : [];
  return named.length === 0 || named.some((each) => isSamePciAddress(each, address));
}

const isNamed = (address: string | null): address is string => address !== null;

/**
 * How grave it is that no GPU can be used: with `auto`, and without a window, Holdfast runs on the
 * software GPU and says so.
 */
export const hindrance = (facts: Facts): Severity =>
  isGpuAsked(facts) || facts.slotKind === "bar_swap" ? "problem" : "warning";

/** Whether somebody asked for a GPU, and not for whatever there is. */
export const isGpuAsked = ({ asked }: Facts): boolean =>
  asked.backend === "cuda" || asked.slot === "bar_swap";

/** A container shows the host's PCI functions whether or not it was given the GPU. */
export const isGpuWithheld = (facts: Facts): boolean =>
  facts.runtime.isContainer && facts.dies.length > 0 && facts.nodes.nodes.length === 0;

/** Whether the checks of the GPU say anything that matters here. */
export function isGpuWanted(facts: Facts): boolean {
  if (facts.asked.backend === "soft") return false;
  return isGpuAsked(facts) || (hasGpu(facts) && !isGpuWithheld(facts));
}

/** The dies that NVIDIA's driver has. */
export const boundDies = ({ dies }: Facts): readonly DieFacts[] =>
  dies.filter(({ pci }) => pci.driver === "nvidia");

/** Where a die comes from, for messages: `0000:05:00.0 GK210 (Tesla K80)`. */
export const dieText = ({ address, name }: DieFacts): string => `${address} ${name}`;

/** Whether the driver counts the die. */
export const isCounted = (facts: Facts, die: DieFacts): boolean =>
  loadedLibcuda(facts)?.devices.some((device) =>
    isSamePciAddress(device.pciAddress, die.address),
  ) ?? false;

/** The text that a probe read, without the newline at its end; null where it read none. */
export function probedText(result: ProbeResult): string | null {
  if (result.state !== "bytes") return null;
  return Buffer.from(result.hex, "hex").toString("utf8").replace(/\n$/, "");
}

/** The die in the slot's window; null where it is free, or nobody could ask. */
export function occupantAddress({ slot }: Facts): string | null {
  if (slot.answer.state !== "slot") return null;
  const { occupant, addresses } = slot.answer.answer;
  return occupant === null ? null : (addresses[occupant] ?? null);
}

/** `1 die`, `2 dies`. */
export const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;
