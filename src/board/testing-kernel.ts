/**
 * What the kernel does with writes to sysfs and calls of the slot, over a tree that stands for `/`:
 * as measured on Linux 6.1, and as include/holdfast/bar_swap.h has it. For tests, in which the
 * steps run in the test's own process.
 */
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { errnoError } from "../base/mod.ts";
import { overrideOf, PCI_DEVICES } from "./pci-function.ts";
import type { StepAnswer, StepQuestion } from "./step-protocol.ts";
import type { StepLauncher, StepTransport } from "./step-runner.ts";
import { createStepServer, type SlotDevice } from "./step-server.ts";
import { readLinkName, readText } from "./sysfs.ts";
import { bindInTree, type SysTree } from "./testing.ts";

/** How the kernel misbehaves; each may be changed while a test runs. */
export type KernelFaults = {
  /** errno of every write to a file that ends so. */
  readonly writeErrno?: { readonly path: string; readonly errno: number };
  /** A write to a file that ends so reports success and does nothing. */
  readonly ignoredWrite?: string;
  /** The driver's probe of this function fails with this. */
  readonly probeErrno?: { readonly name: string; readonly errno: number };
  /** Steps that never come back. */
  readonly hangs?: (question: StepQuestion) => boolean;
  /** ACQUIRE of this die fails with this. */
  readonly acquireErrno?: { readonly die: number; readonly errno: number };
};

export type TreeKernel = {
  faults: KernelFaults;
  /** What was asked for, in order: the call and its arguments as JSON, e.g. `slotMove null 1`. */
  readonly steps: string[];
  readonly slot: TreeSlot;
  readonly launch: StepLauncher;
  /** When a step process takes questions; at once unless a test says otherwise. */
  startsWhen: Promise<void>;
  /** How many step processes were started, and how many were abandoned. */
  readonly counts: { launched: number; abandoned: number; closed: number };
};

/** The slot's state in the kernel, which outlives those who hold its device. */
export type TreeSlot = {
  readonly dies: readonly string[];
  version: number;
  occupant: number | null;
  holderPid: number | null;
  acquires: number;
};

/** Of processes that steps run in; the tree's /proc has none of them. */
const FIRST_PID = 70_001;

export const BAR1_ADDRESS = 0x38_0000_0000n;
export const BAR1_BYTES = 0x4_0000_0000n;

export function createTreeKernel(tree: SysTree, dies: readonly string[]): TreeKernel {
  const kernel: TreeKernel = {
    faults: {},
    steps: [],
    slot: { dies, version: 1, occupant: null, holderPid: null, acquires: 0 },
    launch: () => launchLocal(tree, kernel),
    startsWhen: Promise.resolve(),
    counts: { launched: 0, abandoned: 0, closed: 0 },
  };
  return kernel;
}

/** A step process that is none: it answers on a later turn, unless it is to hang. */
function launchLocal(tree: SysTree, kernel: TreeKernel): StepTransport {
  const pid = FIRST_PID + kernel.counts.launched++;
  const serve = createStepServer({
    root: tree.root,
    openSlot: () => treeSlotDevice(kernel, pid),
    write: (path, text) => writeSysfs(tree, kernel, path.slice(tree.root.length + 1), text),
  });
  let listener: (answer: StepAnswer) => void = () => undefined;
  return {
    pid,
    send: (question) => {
      kernel.steps.push(stepText(question));
      if (kernel.faults.hangs?.(question) === true) return;
      void kernel.startsWhen.then(() => listener(serve(question)));
    },
    onReady: (ready) => void kernel.startsWhen.then(ready),
    onAnswer: (to) => (listener = to),
    onEnd: () => undefined,
    abandon: () => {
      kernel.counts.abandoned += 1;
      listener = (): void => undefined;
    },
    close: () => (kernel.counts.closed += 1),
  };
}

function stepText({ call, body }: StepQuestion): string {
  const words = Object.values(body as object).flat();
  return [call, ...words.map((word) => JSON.stringify(word))].join(" ");
}

const fail = (call: string, path: string, errno: number): never => {
  throw errnoError({ call, path, errno });
};

function writeSysfs(tree: SysTree, kernel: TreeKernel, path: string, text: string): void {
  const { errno } = constants;
  const { writeErrno, ignoredWrite } = kernel.faults;
  if (writeErrno !== undefined && path.endsWith(writeErrno.path)) {
    fail("write", path, writeErrno.errno);
  }
  if (!existsSync(join(tree.root, path))) fail("open", path, errno.ENOENT);
  if (ignoredWrite !== undefined && path.endsWith(ignoredWrite)) return;
  if (path.endsWith("/driver_override")) {
    tree.write(path, text === "\n" ? "(null)\n" : `${text.trim()}\n`);
    return;
  }
  const [, driver = "", action] = /drivers\/([^/]+)\/(bind|unbind)$/.exec(path) ?? [];
  const folder = `${PCI_DEVICES}/${text}`;
  if (readText(tree.root, `${folder}/vendor`) === null) fail("write", path, errno.ENODEV);
  const now = readLinkName(tree.root, `${folder}/driver`);
  if (action === "unbind") {
    if (now !== driver) fail("write", path, errno.ENODEV);
    tree.remove(`${folder}/driver`);
    return;
  }
  if (now !== null) fail("write", path, errno.EBUSY);
  const override = overrideOf(readText(tree.root, `${folder}/driver_override`) ?? "");
  if (override !== null && override !== driver) fail("write", path, errno.ENODEV);
  const { probeErrno } = kernel.faults;
  if (probeErrno?.name === text) fail("write", path, probeErrno.errno);
  bindInTree(tree, text, driver);
}

function treeSlotDevice(kernel: TreeKernel, pid: number): SlotDevice {
  const { slot } = kernel;
  const { errno } = constants;
  const path = "/dev/bar_swap";
  const check = (call: string, die: number): string =>
    slot.dies[die] ?? fail(call, path, errno.EINVAL);
  return {
    query: () => ({
      version: slot.version,
      dieCount: slot.dies.length,
      occupant: slot.occupant,
      holderPid: slot.holderPid,
      acquires: String(slot.acquires),
    }),
    die: (die) => ({ address: check("DIE", die), bar1Bytes: String(BAR1_BYTES) }),
    acquire: (die) => {
      check("ACQUIRE", die);
      const { acquireErrno } = kernel.faults;
      if (acquireErrno?.die === die) fail("ACQUIRE", path, acquireErrno.errno);
      if (slot.occupant !== null && slot.occupant !== die) fail("ACQUIRE", path, errno.EBUSY);
      if (slot.occupant === null) slot.acquires += 1;
      slot.occupant = die;
      slot.holderPid = pid;
      return { bar1Address: String(BAR1_ADDRESS), bar1Bytes: String(BAR1_BYTES) };
    },
    release: (die) => {
      if (slot.occupant !== die) fail("RELEASE", path, errno.EINVAL);
      slot.occupant = null;
      slot.holderPid = null;
    },
    read: (offset, bytes) => {
      if (slot.occupant === null) fail("mmap", path, errno.ENODEV);
      return Uint8Array.from({ length: bytes }, (_, at) => (offset + at) & 0xff);
    },
  };
}

/** A modprobe that loads any module, and whose driver takes what is not blocked. */
export const MODPROBE = `#!/bin/sh
root=$(dirname "$0")/../..
mkdir -p "$root/sys/module/$1" "$root/sys/bus/pci/drivers/$1"
echo live >"$root/sys/module/$1/initstate"
touch "$root/sys/bus/pci/drivers/$1/bind" "$root/sys/bus/pci/drivers/$1/unbind"
for device in "$root"/sys/bus/pci/devices/*; do
	[ "$(cat "$device/driver_override")" = "(null)" ] || continue
	[ "$(cat "$device/vendor")" = 0x10de ] || continue
	[ -L "$device/driver" ] || ln -s "../../drivers/$1" "$device/driver"
done
`;
