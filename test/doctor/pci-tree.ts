// PCI functions in sysfs's own formats: the device's folder below its bridges, and the link to it.
import type { Change } from "./machine-tree.ts";

export type PciNode = {
  /** `pci0000:00` and the bridges above, outermost first. */
  readonly above: readonly string[];
  readonly address: string;
  readonly vendor: string;
  readonly device: string;
  readonly class: string;
  /** Lines of `resource`. */
  readonly resource: readonly string[];
  /** Link's width and its speed, and both at best; left out where sysfs shows none. */
  readonly link?: readonly [width: string, speed: string, widthMax: string, speedMax: string];
  readonly override?: string;
  /** The first 64 bytes read all ones. */
  readonly isOffBus?: boolean;
  readonly driver?: string;
};

const hex = (value: bigint): string => `0x${value.toString(16).padStart(16, "0")}`;

/** A line of `resource`; all zeros where there is nothing. */
export const range = (start: bigint, bytes: bigint, flags: bigint): string =>
  `${hex(start)} ${hex(bytes === 0n ? 0n : start + bytes - 1n)} ${hex(flags)}`;

export const NOTHING = range(0n, 0n, 0n);

/** Flags as the kernel shows them (include/linux/ioport.h). */
export const FLAGS = {
  memory: 0x40200n,
  prefetchable: 0x14220cn,
  io: 0x40101n,
  bridgeMemory: 0x200n,
  bridgePrefetchable: 0x102201n,
} as const;

/** Six BARs, the ROM and what SR-IOV has: 13 lines on a kernel with it. */
export function endpointResource(bars: Readonly<Record<number, string>>): readonly string[] {
  return Array.from({ length: 13 }, (_, index) => bars[index] ?? NOTHING);
}

/** A bridge's own BARs, none here, and its windows: 17 lines on a kernel with SR-IOV. */
export function bridgeResource(memory: string, prefetchable: string): readonly string[] {
  return [...endpointResource({}), NOTHING, memory, prefetchable, NOTHING];
}

function configOf({ vendor, device, isOffBus = false }: PciNode): Uint8Array {
  if (isOffBus) return Buffer.alloc(64, 0xff);
  const bytes = Buffer.alloc(64);
  bytes.writeUInt16LE(Number(vendor), 0);
  bytes.writeUInt16LE(Number(device), 2);
  bytes.writeUInt16LE(0x0006, 4);
  return bytes;
}

/** The function's files and links. */
export function pciFunction(node: PciNode): Change {
  const folder = ["sys/devices", ...node.above, node.address].join("/");
  const [width, speed, widthMax, speedMax] = node.link ?? [];
  return {
    files: {
      [`${folder}/vendor`]: `${node.vendor}\n`,
      [`${folder}/device`]: `${node.device}\n`,
      [`${folder}/class`]: `${node.class}\n`,
      [`${folder}/resource`]: node.resource.map((line) => `${line}\n`).join(""),
      [`${folder}/config`]: configOf(node),
      [`${folder}/driver_override`]: `${node.override ?? "(null)"}\n`,
      ...(width === undefined
        ? {}
        : {
            [`${folder}/current_link_width`]: `${width}\n`,
            [`${folder}/current_link_speed`]: `${speed ?? ""}\n`,
            [`${folder}/max_link_width`]: `${widthMax ?? ""}\n`,
            [`${folder}/max_link_speed`]: `${speedMax ?? ""}\n`,
          }),
      ...(node.driver === undefined ? {} : { [`sys/bus/pci/drivers/${node.driver}/bind`]: "" }),
    },
    links: {
      [`sys/bus/pci/devices/${node.address}`]: `../../../../${folder}`,
      [`${folder}/driver`]:
        node.driver === undefined ? undefined : `../../../../bus/pci/drivers/${node.driver}`,
    },
  };
}
