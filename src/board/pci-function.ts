/**
 * PCI functions as sysfs shows them: what a function is, its BARs, its driver, and whether it
 * answers. What is cached by the kernel and what is asked of the device, or waits for its lock, are
 * read by functions of their own: the second kind can hang with the device.
 */
import { readBytes, readLinkName, readNames, readText } from "./sysfs.ts";
import {
  comparePciAddresses,
  formatPciAddress,
  parsePciAddress,
  type PciAddress,
} from "./pci-address.ts";
import { parseResource, type PciBar } from "./pci-resource.ts";

export const PCI_DEVICES = "sys/bus/pci/devices";

export const NVIDIA_VENDOR = 0x10de;

/** The two dies of a Tesla K80. */
export const GK210_DEVICE = 0x102d;

/** Base class 03: display controllers, which a die without outputs (0302) is too. */
const DISPLAY_CLASS = 0x03;

export type PciFunction = {
  readonly address: PciAddress;
  /** As sysfs names it: `0000:05:00.0`. */
  readonly name: string;
  readonly vendor: number;
  readonly device: number;
  /** 24 bits: base class, sub-class, interface, e.g. 0x030200. */
  readonly class: number;
  readonly bars: readonly PciBar[];
  /** The driver that has it; null where none has. */
  readonly driver: string | null;
};

const folderOf = (name: string): string => `${PCI_DEVICES}/${name}`;

/** A number in sysfs's form, `0x10de`. */
function numberOf(text: string | null): number | null {
  return text !== null && /^0x[0-9a-f]+$/i.test(text) ? Number(text) : null;
}

/**
 * The function at an address; null where there is none. Reads only what the kernel has cached, so
 * that it does not hang, and says nothing of whether the device still answers. Throws FileError.
 */
export function readPciFunction(root: string, address: PciAddress): PciFunction | null {
  const name = formatPciAddress(address);
  const folder = folderOf(name);
  const vendor = numberOf(readText(root, `${folder}/vendor`));
  const device = numberOf(readText(root, `${folder}/device`));
  if (vendor === null || device === null) return null;
  return {
    address,
    name,
    vendor,
    device,
    class: numberOf(readText(root, `${folder}/class`)) ?? 0,
    bars: parseResource(readText(root, `${folder}/resource`) ?? ""),
    driver: readDriver(root, name),
  };
}

/** The driver that has a function now. */
export const readDriver = (root: string, name: string): string | null =>
  readLinkName(root, `${folderOf(name)}/driver`);

/** All PCI functions, in the order of the bus. Hangs no more than readPciFunction does. */
export function scanPci(root: string): readonly PciFunction[] {
  return readNames(root, PCI_DEVICES)
    .flatMap((name) => parsePciAddress(name) ?? [])
    .sort(comparePciAddresses)
    .flatMap((address) => readPciFunction(root, address) ?? []);
}

/** Whether it is a GPU of NVIDIA's, and not e.g. its sound function. */
export const isNvidiaGpu = (found: PciFunction): boolean =>
  found.vendor === NVIDIA_VENDOR && found.class >> 16 === DISPLAY_CLASS;

/** NVIDIA's GPUs, in the order of the bus. */
export const scanNvidiaGpus = (root: string): readonly PciFunction[] =>
  scanPci(root).filter(isNvidiaGpu);

export const overridePath = (name: string): string => `${folderOf(name)}/driver_override`;

/** What an unset override reads as. */
const UNSET = "(null)";

/** What a read of driver_override means: null is unset. */
export const overrideOf = (text: string): string | null => {
  const value = text.replace(/\n$/, "");
  return value === UNSET || value === "" ? null : value;
};

/**
 * The only driver that may have the function; null where any may. Waits for the device's lock,
 * which a driver that hangs while it binds holds: read it from a process that may be left behind.
 */
export const readOverride = (root: string, name: string): string | null =>
  overrideOf(readText(root, overridePath(name)) ?? UNSET);

export type PciConfig = {
  readonly vendor: number;
  readonly device: number;
  /** The command register: bit 1 decodes memory BARs, bit 2 lets the device read and write RAM. */
  readonly command: number;
  /** The registers of the six BARs, as the device holds them. */
  readonly bars: readonly number[];
};

export const configPath = (name: string): string => `${folderOf(name)}/config`;

/** What anybody may read of a configuration space. */
export const CONFIG_BYTES = 64;

const COMMAND_OFFSET = 0x04;
const BAR_OFFSET = 0x10;

/**
 * The registers in the first bytes of a configuration space; `off_bus` where vendor and device read
 * all ones, which is what a read gives that nobody answers; null where there are too few bytes.
 */
export function parseConfig(bytes: Buffer): PciConfig | "off_bus" | null {
  if (bytes.length < CONFIG_BYTES) return null;
  if (bytes.readUInt32LE(0) === 0xffff_ffff) return "off_bus";
  return {
    vendor: bytes.readUInt16LE(0),
    device: bytes.readUInt16LE(2),
    command: bytes.readUInt16LE(COMMAND_OFFSET),
    bars: Array.from({ length: 6 }, (_, index) => bytes.readUInt32LE(BAR_OFFSET + 4 * index)),
  };
}

/**
 * Asks the device itself, which can hang with it: do so from a process that may be left behind.
 * sysfs goes on to show a die that fell off the bus, and lets drivers bind to it; this tells.
 */
export function readConfig(root: string, name: string): PciConfig | "off_bus" | null {
  const bytes = readBytes(root, configPath(name), CONFIG_BYTES);
  return bytes === null ? null : parseConfig(bytes);
}

/** Boards with several dies, by PCI device id, from the pci.ids database. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [GK210_DEVICE, "GK210 (Tesla K80)"],
  [0x118f, "GK104 (Tesla K10)"],
  [0x0ff2, "GK107 (GRID K1)"],
  [0x11bf, "GK104 (GRID K2)"],
  [0x13f2, "GM204 (Tesla M60)"],
  [0x13bd, "GM107 (Tesla M10)"],
]);

const hex4 = (value: number): string => value.toString(16).padStart(4, "0");

/** What to call it before any driver is asked, e.g. `GK210 (Tesla K80)` or `10de:2335`. */
export function gpuName({ vendor, device }: PciFunction): string {
  const name = vendor === NVIDIA_VENDOR ? NAMES.get(device) : undefined;
  return name ?? `${hex4(vendor)}:${hex4(device)}`;
}
