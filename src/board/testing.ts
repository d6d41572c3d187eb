/** A tree that stands for `/` in tests: PCI functions, drivers and modules as sysfs shows them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { CONFIG_BYTES, GK210_DEVICE, NVIDIA_VENDOR, PCI_DEVICES } from "./pci-function.ts";

export type TreeFunction = {
  readonly vendor?: number;
  readonly device?: number;
  /** 24 bits. */
  readonly class?: number;
  /** The whole `resource` file. */
  readonly resource?: string;
  readonly driver?: string;
  readonly override?: string;
  readonly isOffBus?: boolean;
};

export type SysTree = {
  readonly root: string;
  readonly write: (path: string, content: string | Uint8Array) => void;
  readonly link: (path: string, target: string) => void;
  readonly remove: (path: string) => void;
  readonly end: () => void;
};

/** BAR0 of 16 MiB and BAR1 of 16 GiB, as a GK210 has them where there is room. */
export const GK210_RESOURCE = [
  "0x00000000f8000000 0x00000000f8ffffff 0x0000000000040200",
  "0x0000003800000000 0x0000003bffffffff 0x000000000014220c",
  "0x0000000000000000 0x0000000000000000 0x0000000000000000",
  "0x0000003c00000000 0x0000003c01ffffff 0x000000000014220c",
  "0x0000000000000000 0x0000000000000000 0x0000000000000000",
  "0x0000000000000000 0x0000000000000000 0x0000000000000000",
  "0x0000000000000000 0x0000000000000000 0x0000000000000000",
].join("\n");

export function createSysTree(): SysTree {
  const root = mkdtempSync(join(tmpdir(), "holdfast-tree-"));
  const made = (path: string): string => {
    const whole = join(root, path);
    mkdirSync(dirname(whole), { recursive: true });
    return whole;
  };
  return {
    root,
    write: (path, content) => writeFileSync(made(path), content),
    link: (path, target) => {
      const whole = made(path);
      rmSync(whole, { force: true });
      symlinkSync(target, whole);
    },
    remove: (path) => rmSync(join(root, path), { recursive: true, force: true }),
    end: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The configuration space that a function shows while it answers, and once it does not. */
export function configBytes(vendor: number, device: number, isOffBus: boolean): Buffer {
  if (isOffBus) return Buffer.alloc(CONFIG_BYTES, 0xff);
  const bytes = Buffer.alloc(CONFIG_BYTES);
  bytes.writeUInt16LE(vendor, 0);
  bytes.writeUInt16LE(device, 2);
  bytes.writeUInt16LE(0x0006, 4);
  return bytes;
}

const hex = (value: number, digits: number): string =>
  `0x${value.toString(16).padStart(digits, "0")}`;

/** A function as sysfs shows it; a GK210 that no driver has where nothing else is said. */
export function addFunction(tree: SysTree, name: string, given: TreeFunction = {}): void {
  const { vendor = NVIDIA_VENDOR, device = GK210_DEVICE } = given;
  const folder = `${PCI_DEVICES}/${name}`;
  tree.write(`${folder}/vendor`, `${hex(vendor, 4)}\n`);
  tree.write(`${folder}/device`, `${hex(device, 4)}\n`);
  tree.write(`${folder}/class`, `${hex(given.class ?? 0x030200, 6)}\n`);
  tree.write(`${folder}/resource`, `${given.resource ?? GK210_RESOURCE}\n`);
  tree.write(`${folder}/driver_override`, `${given.override ?? "(null)"}\n`);
  tree.write(`${folder}/config`, configBytes(vendor, device, given.isOffBus ?? false));
  if (given.driver !== undefined) bindInTree(tree, name, given.driver);
}

const DRIVERS = "sys/bus/pci/drivers";

/** What the kernel does when a driver takes a function. */
export function bindInTree(tree: SysTree, name: string, driver: string): void {
  tree.write(`${DRIVERS}/${driver}/bind`, "");
  tree.write(`${DRIVERS}/${driver}/unbind`, "");
  const folder = `${PCI_DEVICES}/${name}`;
  tree.link(`${folder}/driver`, relative(folder, `${DRIVERS}/${driver}`));
}

export type TreeProcess = {
  readonly pid: number;
  readonly command: string;
  readonly parentPid?: number;
  /** Its own where it is left out. */
  readonly session?: number;
  /** In clock ticks since the machine was started; 0 where it is left out. */
  readonly startTicks?: number;
  /** As proc(5) has it; `S` where it is left out. */
  readonly state?: string;
  /** What it has open. */
  readonly open: readonly string[];
  /** States of its threads besides the first. */
  readonly threads?: Readonly<Record<number, string>>;
};

/** From the terminal, field 7 of proc(5)'s stat, to the one before the start, field 22. */
const FIELDS_BETWEEN = 15;

/** A process as /proc shows it. */
export function addProcess(tree: SysTree, given: TreeProcess): void {
  const { pid, command, parentPid = 1, state = "S", session = pid, startTicks = 0 } = given;
  const between = "0 ".repeat(FIELDS_BETWEEN);
  const stat = (id: number, itsState: string): string =>
    `${id} (${command}) ${itsState} ${parentPid} ${session} ${session} ${between}${startTicks} 0\n`;
  tree.write(`proc/${pid}/stat`, stat(pid, state));
  tree.write(`proc/${pid}/task/${pid}/stat`, stat(pid, state));
  for (const [thread, its] of Object.entries(given.threads ?? {})) {
    tree.write(`proc/${pid}/task/${thread}/stat`, stat(Number(thread), its));
  }
  given.open.forEach((path, number) => tree.link(`proc/${pid}/fd/${number}`, path));
}
