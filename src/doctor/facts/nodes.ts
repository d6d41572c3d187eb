/** The driver's device nodes in /dev, and the numbers that the kernel gave the drivers. */
import type { MachineFiles } from "../machine-files.ts";
import type { ProbeJob, Prober, ProbeResult } from "../prober.ts";

export type DeviceNode = {
  /** E.g. `/dev/nvidia0`. */
  readonly path: string;
  /** Null where it is no character device. */
  readonly major: number | null;
  readonly minor: number | null;
  /** Permission bits. */
  readonly mode: number;
  readonly mayOpen: boolean;
  /** What came of opening it; not asked of the dies' own, since that starts them. */
  readonly opened: ProbeResult;
};

export type NodeFacts = {
  readonly nodes: readonly DeviceNode[];
  /** Majors of character devices by driver, from /proc/devices. */
  readonly majors: ReadonlyMap<string, number>;
};

/** What the driver's own tools make: control, a node a die, unified memory. */
const NODE_NAME = /^nvidia(ctl|-uvm|-uvm-tools|\d{1,4})$/;

/** A node in a recorded tree is a file that says so: it needs no rights to make. */
const RECORDED_NODE = /^c (\d{1,4}) (\d{1,7})$/;

/** Opening these two starts no die; without the module it may load it, by a modprobe alias. */
const OPENED: readonly string[] = ["nvidiactl", "nvidia-uvm"];

/** `isLive`: whether the module is loaded, so that nodes may be opened. */
export async function readNodes(
  files: MachineFiles,
  prober: Prober,
  isLive: boolean,
): Promise<NodeFacts> {
  const names = files.names("dev").filter((name) => NODE_NAME.test(name));
  const asked = isLive ? OPENED.filter((name) => names.includes(name)) : [];
  const jobs = asked.map((name): ProbeJob => ({ kind: "open", path: `dev/${name}` }));
  // Side by side: one that hangs holds nobody up.
  const answers = (await Promise.all(jobs.map((job) => prober([job])))).flat();
  const nodes = names.flatMap((name) => {
    const node = nodeAt(files, name);
    const opened = answers[asked.indexOf(name)] ?? { state: "not_asked" };
    return node === null ? [] : [{ ...node, opened }];
  });
  return { nodes, majors: readMajors(files) };
}

function nodeAt(files: MachineFiles, name: string): Omit<DeviceNode, "opened"> | null {
  const found = files.stat(`dev/${name}`);
  if (found === null) return null;
  const numbers = found.isCharacterDevice() ? numbersOf(found.rdev) : recorded(files, name);
  return {
    path: `/dev/${name}`,
    major: numbers?.[0] ?? null,
    minor: numbers?.[1] ?? null,
    mode: found.mode & 0o777,
    mayOpen: files.mayOpen(`dev/${name}`, "read") && files.mayOpen(`dev/${name}`, "write"),
  };
}

/** Linux's dev_t as glibc packs it: 12 bits of major, 20 of minor. */
const numbersOf = (device: number): readonly [number, number] => [
  (device >> 8) & 0xfff,
  (device & 0xff) | ((device >> 12) & 0xfff00),
];

function recorded(files: MachineFiles, name: string): readonly [number, number] | null {
  if (files.isLive) return null;
  const [, major, minor] = RECORDED_NODE.exec(files.text(`dev/${name}`) ?? "") ?? [];
  return major === undefined ? null : [Number(major), Number(minor)];
}

function readMajors(files: MachineFiles): ReadonlyMap<string, number> {
  const [characters = ""] = (files.text("proc/devices") ?? "").split("Block devices:");
  const found = characters.matchAll(/^\s*(\d+) (\S+)$/gm);
  return new Map([...found].map(([, major = "", name = ""]) => [name, Number(major)]));
}
