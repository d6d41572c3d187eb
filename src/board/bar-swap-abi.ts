/**
 * The layouts and numbers of include/holdfast/bar_swap.h, and nothing else. Compared with the
 * header by test/bar-swap-header.test.ts.
 */
import { endianness } from "node:os";
import { formatPciAddress } from "./pci-address.ts";
import type { SlotBar, SlotDie, SlotQuery } from "./step-protocol.ts";

export const BAR_SWAP_PATH = "/dev/bar_swap";
export const BAR_SWAP_VERSION = 1;

/** Occupant of a free slot; holder where nobody is known. */
const NONE = -1;

/** Holder that is alive and has no number in our pid namespace. */
export const HOLDER_UNSEEN = -2;

/** Offsets and sizes in bytes, by C's names. */
export const BAR_SWAP_LAYOUT = {
  hf_bar_swap_query: {
    bytes: 24,
    offsets: { version: 0, die_count: 4, occupant: 8, holder_pid: 12, acquires: 16 },
  },
  hf_bar_swap_die: {
    bytes: 32,
    offsets: {
      ...{ die: 0, pci_domain: 4, pci_bus: 8, pci_device: 12, pci_function: 16, reserved: 20 },
      bar1_bytes: 24,
    },
  },
  hf_bar_swap_acquire: {
    bytes: 24,
    offsets: { die: 0, reserved: 4, bar1_address: 8, bar1_bytes: 16 },
  },
  hf_bar_swap_release: { bytes: 8, offsets: { die: 0, reserved: 4 } },
} as const;

const {
  hf_bar_swap_query: QUERY,
  hf_bar_swap_die: DIE,
  hf_bar_swap_acquire: ACQUIRE,
  hf_bar_swap_release: RELEASE,
} = BAR_SWAP_LAYOUT;

/** asm-generic/ioctl.h, as x86, arm64 and riscv have it. */
const IOC_WRITE = 1;
const IOC_READ = 2;
const IOC_TYPE = 0xb5;

const requestOf = (direction: number, number: number, bytes: number): number =>
  // The direction is the sign bit's neighbour: without >>> a request that reads is negative.
  ((direction << 30) | (bytes << 16) | (IOC_TYPE << 8) | number) >>> 0;

/** The requests, by C's names. */
export const BAR_SWAP_REQUEST = {
  HF_BAR_SWAP_QUERY: requestOf(IOC_READ, 0, QUERY.bytes),
  HF_BAR_SWAP_DIE: requestOf(IOC_READ | IOC_WRITE, 1, DIE.bytes),
  HF_BAR_SWAP_ACQUIRE: requestOf(IOC_READ | IOC_WRITE, 2, ACQUIRE.bytes),
  HF_BAR_SWAP_RELEASE: requestOf(IOC_WRITE, 3, RELEASE.bytes),
} as const;

/** All fields are of the machine's own byte order. */
const IS_LITTLE = endianness() === "LE";

/**
 * A structure's memory, of its own: a native call keeps its address while it runs.
 */
export function newStructure(name: keyof typeof BAR_SWAP_LAYOUT, die: number | null): DataView {
  const view = new DataView(new ArrayBuffer(BAR_SWAP_LAYOUT[name].bytes));
  if (die !== null) view.setUint32(0, die, IS_LITTLE);
  return view;
}

const orNull = (value: number): number | null => (value === NONE ? null : value);

export function decodeQuery(view: DataView): SlotQuery {
  const at = QUERY.offsets;
  return {
    version: view.getUint32(at.version, IS_LITTLE),
    dieCount: view.getUint32(at.die_count, IS_LITTLE),
    occupant: orNull(view.getInt32(at.occupant, IS_LITTLE)),
    holderPid: orNull(view.getInt32(at.holder_pid, IS_LITTLE)),
    acquires: String(view.getBigUint64(at.acquires, IS_LITTLE)),
  };
}

export function decodeDie(view: DataView): SlotDie {
  const at = DIE.offsets;
  const address = formatPciAddress({
    domain: view.getUint32(at.pci_domain, IS_LITTLE),
    bus: view.getUint32(at.pci_bus, IS_LITTLE),
    device: view.getUint32(at.pci_device, IS_LITTLE),
    function: view.getUint32(at.pci_function, IS_LITTLE),
  });
  return { address, bar1Bytes: String(view.getBigUint64(at.bar1_bytes, IS_LITTLE)) };
}

export function decodeAcquire(view: DataView): SlotBar {
  const at = ACQUIRE.offsets;
  return {
    bar1Address: String(view.getBigUint64(at.bar1_address, IS_LITTLE)),
    bar1Bytes: String(view.getBigUint64(at.bar1_bytes, IS_LITTLE)),
  };
}
