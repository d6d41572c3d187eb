// What the kernel's log says of dies: lines as the driver and the kernel print them.
import { K80_DEVICES, K80_HOST, loads } from "../machines.ts";
import { change, type Change } from "../machine-tree.ts";
import type { Situation } from "../situation.ts";

const log = (...lines: readonly string[]): Change => ({
  files: { "dev/kmsg": lines.map((line) => `${line}\n`).join("") },
});

const DIE = "0000:05:00.0";

export const LOG: readonly Situation[] = [
  {
    name: "a program's Xids do not condemn a die",
    machine: change(
      K80_HOST,
      log(
        "4,1201,91200000,-;NVRM: GPU at PCI:0000:05:00: GPU-00000000-0000-0000-0000-000000000000",
        "4,1202,91200010,-;NVRM: Xid (PCI:0000:05:00): 13, pid=2101, Graphics Exception",
        "4,1203,93000000,-;NVRM: Xid (PCI:0000:05:00): 13, pid=2101, Graphics Exception",
        "4,1204,93000010,-;NVRM: Xid (PCI:0000:05:00): 43, pid=2101, Ch 00000010",
      ),
    ),
    finds: [
      { id: "log-application-xid", about: DIE, says: ["Xid 13", "2 times", "93 s"] },
      { id: "log-application-xid", about: DIE, says: ["Xid 43", "1 time"] },
    ],
  },
  {
    name: "a double-bit error and a die off the bus, with times as dmesg prints them",
    machine: change(
      K80_HOST,
      log(
        "[ 3601.100000] NVRM: Xid (PCI:0000:05:00): 48, pid=77, DBE (double bit error) occurred",
        "[ 7201.200000] NVRM: GPU at 0000:06:00.0 has fallen off the bus.",
        "[ 7201.200100] NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.",
      ),
    ),
    finds: [
      { id: "log-xid", about: DIE, says: ["Xid 48", "3601 s"] },
      { id: "log-xid", about: "0000:06:00.0", says: ["Xid 79"] },
      { id: "log-off-bus", about: "0000:06:00.0", says: ["power"] },
    ],
  },
  {
    name: "a storm of Xids",
    machine: change(
      K80_HOST,
      log(
        ...Array.from(
          { length: 150 },
          (_, at) =>
            `4,${String(at + 1)},${String(at * 1000)},-;NVRM: Xid (PCI:0000:05:00): 31, ` +
            "pid=9, MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_1000",
        ),
      ),
    ),
    finds: [
      { id: "log-application-xid", about: DIE, says: ["Xid 31", "150 times"] },
      { id: "log-xid-storm", about: DIE, says: ["150 Xids"] },
    ],
  },
  {
    name: "a die that does not start for want of power",
    machine: change(
      K80_HOST,
      loads({ devices: K80_DEVICES.slice(1) }),
      log(
        "[   12.5] NVRM: GPU 0000:05:00.0: GPU does not have the necessary power cables connected.",
        "[   12.6] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x24:0x1c:1447)",
        "[   12.7] NVRM: GPU 0000:05:00.0: rm_init_adapter failed, device minor number 0",
      ),
    ),
    finds: [
      { id: "log-power", about: DIE, says: ["8-pin EPS"] },
      { id: "log-init-failed", about: DIE, says: ["2 times"] },
      { id: "die-uncounted", about: DIE },
    ],
  },
  {
    name: "a die that did not start once, and is counted by now",
    machine: change(
      K80_HOST,
      log("[   12.6] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x22:0x56:894)"),
    ),
    finds: [{ id: "log-init-failed", about: DIE, says: ["by now it counts the die"] }],
  },
  {
    name: "PCIe errors: a fatal one at the switch, corrected ones at a die",
    machine: change(
      K80_HOST,
      log(
        "[  100.1] pcieport 0000:03:00.0: AER: Uncorrected (Fatal) error received: 0000:03:00.0",
        ...Array.from(
          { length: 12 },
          (_, at) =>
            `[  ${String(200 + at)}.0] nvidia 0000:06:00.0: PCIe Bus Error: severity=Corrected, ` +
            "type=Data Link Layer, (Transmitter ID)",
        ),
      ),
    ),
    finds: [
      { id: "log-aer", about: DIE, says: ["1 uncorrected PCIe error"] },
      { id: "log-aer", about: "0000:06:00.0" },
      { id: "log-aer-corrected", about: "0000:06:00.0", says: ["12 corrected"] },
    ],
  },
  {
    name: "a handful of corrected PCIe errors is nothing",
    machine: change(
      K80_HOST,
      log(
        "[  201.0] nvidia 0000:06:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, " +
          "(Receiver ID)",
        "[  202.0] nvme 0000:07:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccess",
      ),
    ),
    finds: [],
  },
  {
    name: "six corrected errors, of each of which two lines tell, are nothing",
    machine: change(
      K80_HOST,
      log(
        ...Array.from({ length: 6 }, (_, at) => [
          `[  ${String(200 + at)}.0] pcieport 0000:00:02.0: AER: Corrected error received: 0000:06:00.0`,
          `[  ${String(200 + at)}.1] nvidia 0000:06:00.0: PCIe Bus Error: severity=Corrected`,
        ]).flat(),
      ),
    ),
    finds: [],
  },
  {
    name: "modprobe was stuck in the kernel",
    machine: change(
      K80_HOST,
      log(
        "[  363.3] INFO: task modprobe:1911 blocked for more than 120 seconds.",
        "[  363.3]       Tainted: P           OE     5.15.0-119-generic #129-Ubuntu",
        "[  484.1] INFO: task modprobe:1911 blocked for more than 241 seconds.",
        "[  484.1] INFO: task jbd2/sda1-8:301 blocked for more than 120 seconds.",
      ),
    ),
    finds: [{ id: "log-hung-task", about: "modprobe (pid 1911)", says: ["241 s"] }],
  },
  {
    name: "a log of noise",
    machine: change(
      K80_HOST,
      log(
        "Xid",
        "NVRM: Xid (",
        "\u0000\u0001\u0002",
        "[",
        "[ 1.0",
        "6,1",
        "6,1,2,-;",
        "NVRM: Xid ():",
        "[  1.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44",
        "[  2.0] usb 1-1: new high-speed USB device; Xid me not",
      ),
    ),
    finds: [],
  },
];
