// The window: its device, who holds it and the dies behind it, what the kernel forbids.
import type { ProbeResult } from "../../../src/doctor/mod.ts";
import {
  boundDie,
  gk210,
  K80_HOST,
  K80_SLOT,
  libraryFiles,
  loadedModule,
  loadsOnly,
  PLAIN,
} from "../machines.ts";
import { change, type Change } from "../machine-tree.ts";
import { pciFunction } from "../pci-tree.ts";
import type { Situation } from "../situation.ts";

const answer = (fields: { readonly occupant: number; readonly holderPid: number }): Change => ({
  probes: {
    slot: {
      state: "slot",
      answer: { dieCount: 2, addresses: ["0000:05:00.0", "0000:06:00.0"], ...fields },
    },
  },
});

const says = (result: ProbeResult): Change => ({ probes: { slot: result } });

const held = (pid: number, command: string, ...devices: readonly string[]): Change => ({
  files: { [`proc/${String(pid)}/comm`]: `${command}\n`, [`proc/${String(pid)}/fd`]: null },
  links: Object.fromEntries(
    devices.map((device, at) => [`proc/${String(pid)}/fd/${String(at + 3)}`, device]),
  ),
});

/** The first die was brought up by somebody. */
export const BOUND: readonly Change[] = [
  pciFunction(gk210(0, { driver: "nvidia" })),
  loadedModule("470.256.02"),
  { files: { "dev/nvidiactl": "c 195 255", "dev/nvidia-uvm": "c 510 0" } },
  boundDie("0000:05:00.0", 0, "Tesla K80"),
  loadsOnly(),
];

const SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

export const SLOT: readonly Situation[] = [
  {
    name: "a window is asked for, and its device is not there",
    machine: change(K80_SLOT, {
      files: { "dev/bar_swap": undefined },
      modes: { "dev/bar_swap": undefined },
    }),
    asked: { slot: "bar_swap" },
    finds: [{ id: "slot-missing", about: "/dev/bar_swap", says: ["modprobe bar_swap"] }],
  },
  {
    name: "a window is asked for on a machine without any GPU",
    machine: change(PLAIN, libraryFiles("470.256.02"), loadsOnly()),
    asked: { slot: "bar_swap" },
    finds: [{ id: "no-gpu", says: ["--slot bar_swap"] }, { id: "slot-missing" }],
  },
  {
    name: "its module has no signature, and Secure Boot is on",
    machine: change(K80_SLOT, {
      files: {
        "dev/bar_swap": undefined,
        [SECURE_BOOT]: Buffer.from([6, 0, 0, 0, 1]),
        "sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
      },
      modes: { "dev/bar_swap": undefined },
    }),
    asked: { slot: "bar_swap" },
    finds: [
      { id: "slot-missing" },
      { id: "module-signature", says: ["Secure Boot is on", "mokutil --import"] },
      { id: "lockdown", about: "integrity", says: ["EPERM", "debugfs mailboxes"] },
    ],
  },
  {
    name: "the kernel enforces signatures without Secure Boot",
    machine: change(K80_SLOT, {
      files: {
        "dev/bar_swap": undefined,
        [SECURE_BOOT]: Buffer.from([6, 0, 0, 0, 0]),
        "sys/module/module/parameters/sig_enforce": "Y\n",
      },
      modes: { "dev/bar_swap": undefined },
    }),
    asked: { slot: "bar_swap" },
    finds: [{ id: "slot-missing" }, { id: "module-signature", says: ["sig_enforce"] }],
  },
  {
    name: "the kernel is locked down to confidentiality",
    machine: change(K80_SLOT, {
      files: { "sys/kernel/security/lockdown": "none integrity [confidentiality]\n" },
    }),
    finds: [{ id: "lockdown", about: "confidentiality", says: ["reads of debugfs"] }],
  },
  {
    name: "a host that maps every die is well under Secure Boot",
    machine: change(K80_HOST, {
      files: {
        [SECURE_BOOT]: Buffer.from([6, 0, 0, 0, 1]),
        "sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
      },
    }),
    finds: [],
  },
  {
    name: "this user may not open the slot",
    machine: K80_SLOT,
    user: { uid: 1000, groups: [1000] },
    finds: [{ id: "slot-denied", says: ["run as root"] }],
  },
  {
    name: "the slot refuses root",
    machine: change(K80_SLOT, says({ state: "failed", code: "EPERM", message: "open: EPERM" })),
    finds: [{ id: "slot-denied" }],
  },
  {
    name: "the slot's module hangs",
    machine: change(K80_SLOT, says({ state: "hung", afterMs: 15_000 })),
    finds: [{ id: "slot-hung", says: ["15 s"] }],
  },
  {
    name: "something else is called bar_swap",
    machine: change(
      K80_SLOT,
      says({ state: "failed", code: "ENOTTY", message: "QUERY /dev/bar_swap: ENOTTY (errno 25)" }),
    ),
    finds: [{ id: "slot-broken", says: ["ENOTTY", "bar_swap.h"] }],
  },
  {
    name: "an owner is at work",
    machine: change(
      K80_SLOT,
      ...BOUND,
      answer({ occupant: 0, holderPid: 700 }),
      held(700, "node", "/dev/bar_swap"),
      held(701, "node", "/dev/nvidia0", "/dev/nvidiactl"),
    ),
    finds: [{ id: "slot-held", says: ["node (pid 700)"] }],
  },
  {
    name: "an owner outside of this container is at work",
    machine: change(K80_SLOT, ...BOUND, answer({ occupant: 0, holderPid: -2 })),
    finds: [{ id: "slot-unseen", says: ["no process number here"] }],
  },
  {
    name: "a dead owner left a die in the window",
    machine: change(K80_SLOT, answer({ occupant: 0, holderPid: 4711 })),
    finds: [{ id: "slot-stale", says: ["die 0", "pid 4711", "nothing to do"] }],
  },
  {
    name: "a user who may open the slot and cannot see who has it open",
    machine: change(
      K80_SLOT,
      answer({ occupant: 0, holderPid: 700 }),
      held(700, "node", "/dev/bar_swap"),
      { modes: { "dev/bar_swap": 0o666, "proc/700/fd": 0o700 } },
    ),
    user: { uid: 1000, groups: [1000] },
    finds: [
      { id: "slot-unseen", says: ["pid 700", "cannot see"], severity: "note" },
      { id: "not-checked" },
    ],
  },
  {
    name: "an owner in another namespace of processes",
    machine: change(K80_SLOT, answer({ occupant: 0, holderPid: 0 })),
    finds: [{ id: "slot-unseen", says: ["no process number here"] }],
  },
  {
    name: "the persistence daemon runs on a window box",
    machine: change(
      K80_SLOT,
      ...BOUND,
      held(812, "nvidia-persiste", "/dev/nvidia0", "/dev/nvidiactl"),
    ),
    finds: [
      {
        id: "persistence-daemon",
        about: "nvidia-persiste (pid 812)",
        says: ["/dev/nvidia0", "systemctl disable --now nvidia-persistenced"],
      },
    ],
  },
  {
    name: "somebody's notebook holds a die of a window box",
    machine: change(K80_SLOT, ...BOUND, held(900, "python3", "/dev/nvidia0", "/dev/nvidia-uvm")),
    finds: [{ id: "die-in-use", about: "python3 (pid 900)", says: ["/dev/nvidia0", "ps -fp 900"] }],
  },
  {
    name: "somebody's notebook on a host that maps every die is well",
    machine: change(K80_HOST, held(900, "python3", "/dev/nvidia0")),
    finds: [],
  },
  {
    name: "debugfs is not mounted",
    machine: change(K80_SLOT, {
      files: { "proc/mounts": "sysfs /sys sysfs rw 0 0\n" },
    }),
    finds: [{ id: "debugfs-unmounted", says: ["mount -t debugfs"] }],
  },
  {
    name: "debugfs is closed to this user",
    machine: change(K80_SLOT, {
      modes: { "sys/kernel/debug": 0o700, "dev/bar_swap": 0o666 },
    }),
    user: { uid: 1000, groups: [1000] },
    finds: [{ id: "debugfs-denied", says: ["as root"] }],
  },
];
