// The bus: dies that do not answer, BARs without room, links, the IOMMU.
import {
  bridge,
  gk210,
  H200_HOST,
  K80_BRIDGES,
  K80_DEVICES,
  K80_HOST,
  K80_SLOT,
  loads,
  loadsOnly,
  PLAIN,
} from "../machines.ts";
import { change, type Change, type Machine } from "../machine-tree.ts";
import { endpointResource, FLAGS, pciFunction, range } from "../pci-tree.ts";
import type { Situation } from "../situation.ts";

const MIB = 1n << 20n;
const GIB = 1n << 30n;

const DIE = "0000:06:00.0";

const log = (...lines: readonly string[]): Change => ({
  files: { "dev/kmsg": lines.map((line) => `${line}\n`).join("") },
});

/** The second die without addresses for its large BARs, as kernels up to 6.15 show it. */
const FORGOTTEN = pciFunction(
  gk210(1, {
    resource: endpointResource({ 0: range(0xf900_0000n, 16n * MIB, FLAGS.memory) }),
  }),
);

/** The same on a newer kernel, which keeps the size (IORESOURCE_UNSET). */
const UNSET = pciFunction(
  gk210(1, {
    resource: endpointResource({
      0: range(0xf900_0000n, 16n * MIB, FLAGS.memory),
      1: range(0n, 16n * GIB, 0x2014_220cn),
      3: range(0n, 32n * MIB, 0x2014_220cn),
    }),
  }),
);

const ONE_COUNTED = loads({ devices: K80_DEVICES.slice(0, 1) });

const UNBOUND = { id: "die-unbound", about: DIE } as const;

const INVALID_BAR = [
  "[    8.410123] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
  "               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:06:00.0)",
  "[    8.410126] nvidia: probe of 0000:06:00.0 failed with error -1",
] as const;

/** A desktop board of 2013: nothing above 4 GiB. */
const OLD_DESKTOP: Machine = change(K80_HOST, {
  files: {
    "proc/iomem":
      "000a0000-000bffff : PCI Bus 0000:00\n" +
      "dfa00000-feafffff : PCI Bus 0000:00\n  f8000000-f9ffffff : PCI Bus 0000:03\n",
  },
});

const DIE_FOLDER = ["sys/devices", ...gk210(1).above, DIE].join("/");

const power = (attribute: string, value: string): Change => ({
  files: { [`${DIE_FOLDER}/${attribute}`]: `${value}\n` },
});

export const BUS: readonly Situation[] = [
  {
    name: "a die fell off the bus",
    machine: change(K80_HOST, ONE_COUNTED, pciFunction(gk210(1, { isOffBus: true }))),
    finds: [{ id: "die-off-bus", about: DIE, says: ["all ones", "GK210 (Tesla K80)"] }, UNBOUND],
  },
  {
    name: "a laptop's GPU that is switched off, without a driver",
    machine: change(
      PLAIN,
      pciFunction(gk210(1, { isOffBus: true })),
      power("power_state", "D3cold"),
    ),
    finds: [
      { id: "die-asleep", about: DIE, says: ["D3cold"], severity: "note", command: null },
      { id: "module-not-loaded", severity: "warning" },
      { id: "libcuda-missing", severity: "warning" },
    ],
  },
  {
    name: "a die that the driver has put to sleep is not woken",
    machine: change(K80_HOST, loadsOnly(), power("power/runtime_status", "suspended")),
    finds: [{ id: "die-asleep", about: DIE, says: ["suspended"], severity: "note" }],
  },
  {
    name: "a die that is awake, as sysfs shows it",
    machine: change(K80_HOST, power("power_state", "D0"), power("power/runtime_status", "active")),
    finds: [],
  },
  {
    name: "a die whose configuration space does not answer",
    machine: change(K80_HOST, {
      probes: {
        [`read sys/bus/pci/devices/${DIE}/config`]: { state: "hung", afterMs: 15_000 },
      },
    }),
    finds: [{ id: "die-silent", about: DIE, says: ["15 s", "timeout 10 lspci"] }],
  },
  {
    name: "the bridge above the second die has no window, and the kernel forgot its BARs",
    machine: change(
      K80_HOST,
      FORGOTTEN,
      ONE_COUNTED,
      bridge({
        above: ["pci0000:00", "0000:00:02.0", "0000:03:00.0"],
        address: "0000:04:10.0",
        prefetchable: [0n, 0n],
      }),
      log(...INVALID_BAR),
    ),
    finds: [
      { id: "bar-unassigned", about: DIE, says: ["BAR1 (16 GiB)", "BAR3 (32 MiB)"] },
      {
        id: "bridge-window",
        about: "0000:04:10.0",
        says: ["closed", "1 die behind it needs 16.03 GiB", "16.03 GiB missing", "pci=realloc"],
      },
      UNBOUND,
    ],
  },
  {
    name: "the root port's window has room for one die of two, and the kernel kept the sizes",
    machine: change(
      K80_HOST,
      UNSET,
      ONE_COUNTED,
      bridge({
        above: ["pci0000:00"],
        address: "0000:00:02.0",
        prefetchable: [0x38_0000_0000n, 16n * GIB + 32n * MIB],
      }),
    ),
    finds: [
      { id: "bar-unassigned", about: DIE, says: ["BAR1 (16 GiB)"] },
      {
        id: "bridge-window",
        about: "0000:00:02.0",
        says: [
          "16.03 GiB (0x3800000000-0x3c01ffffff)",
          "2 dies behind it need 32.06 GiB",
          "16.03 GiB missing",
        ],
      },
      UNBOUND,
    ],
  },
  {
    name: "an old desktop board without Above 4G Decoding",
    machine: change(
      OLD_DESKTOP,
      pciFunction(gk210(0, { resource: endpointResource({}) })),
      FORGOTTEN,
      loads({ initCode: 100 }),
    ),
    finds: [
      { id: "bar-unassigned", about: "0000:05:00.0", says: ["BAR0 (16 MiB)", "BAR1 (16 GiB)"] },
      { id: "bar-unassigned", about: DIE, says: ["BAR1 (16 GiB)"] },
      {
        id: "above-4g",
        about: "PCI Bus 0000:00",
        says: ["497 MiB", "32.06 GiB needed", "31.58 GiB missing", "Above 4G Decoding"],
      },
      { id: "die-unbound", about: "0000:05:00.0" },
      UNBOUND,
      { id: "driver-no-start", says: ["CUDA_ERROR_NO_DEVICE 100"] },
    ],
  },
  {
    name: "a board whose range above 4 GiB is too small for two dies",
    machine: change(K80_HOST, FORGOTTEN, ONE_COUNTED, {
      files: {
        "proc/iomem":
          "dfa00000-feafffff : PCI Bus 0000:00\n3800000000-3c01ffffff : PCI Bus 0000:00\n",
      },
    }),
    finds: [
      { id: "bar-unassigned", about: DIE },
      {
        id: "root-window",
        about: "PCI Bus 0000:00",
        says: ["16.03 GiB", "32.06 GiB needed", "16.03 GiB missing", "MMIO High Size"],
      },
      UNBOUND,
    ],
  },
  {
    name: "a card of another kind, whose size only the kernel's log tells",
    machine: change(
      K80_HOST,
      ...K80_BRIDGES,
      {
        files: { "proc/driver/nvidia/gpus/0000:06:00.0": undefined, "dev/nvidia1": undefined },
        modes: { "dev/nvidia1": undefined },
      },
      pciFunction(
        gk210(1, {
          device: "0x17fd",
          resource: endpointResource({ 0: range(0xf900_0000n, 16n * MIB, FLAGS.memory) }),
        }),
      ),
      ONE_COUNTED,
      log(
        "[    0.157168] pci 0000:06:00.0: [10de:17fd] type 00 class 0x030200 PCIe Endpoint",
        "[    0.158301] pci 0000:06:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; " +
          "no space",
        "[    0.158303] pci 0000:06:00.0: BAR 1 [mem size 0x800000000 64bit pref]: failed to " +
          "assign",
      ),
    ),
    finds: [
      { id: "bar-unassigned", about: DIE, says: ["BAR1 (32 GiB)"] },
      { id: "bridge-window", about: "0000:04:10.0", says: ["needs 32 GiB", "15.97 GiB missing"] },
      UNBOUND,
    ],
  },
  {
    name: "in the window a die without BAR1, which no driver can use",
    machine: change(K80_SLOT, {
      probes: {
        slot: {
          state: "slot",
          answer: { dieCount: 2, occupant: 1, holderPid: null, addresses: ["0000:05:00.0", DIE] },
        },
      },
    }),
    finds: [
      { id: "bar-unassigned", about: DIE, says: ["BAR1 (16 GiB)"] },
      { id: "bridge-window", about: "0000:04:10.0", says: ["closed"] },
      { id: "slot-stale", says: ["die 1 is in the window"] },
    ],
  },
  {
    name: "a K80 in graphics mode, with a BAR1 of 256 MiB",
    machine: change(
      K80_HOST,
      pciFunction(
        gk210(1, {
          driver: "nvidia",
          resource: endpointResource({
            0: range(0xf900_0000n, 16n * MIB, FLAGS.memory),
            1: range(0x40_0000_0000n, 256n * MIB, FLAGS.prefetchable),
            3: range(0x44_0000_0000n, 32n * MIB, FLAGS.prefetchable),
          }),
        }),
      ),
    ),
    finds: [{ id: "bar-small", about: DIE, says: ["256 MiB", "16 GiB"] }],
  },
  {
    name: "a die with four lanes of sixteen",
    machine: change(
      K80_HOST,
      pciFunction(
        gk210(1, {
          driver: "nvidia",
          link: ["4", "8.0 GT/s PCIe", "16", "8.0 GT/s PCIe"],
        }),
      ),
    ),
    finds: [{ id: "link-narrow", about: DIE, says: ["x4", "x16", "4 times as long"] }],
  },
  {
    name: "a die that idles at 2.5 GT/s is well",
    machine: change(
      K80_HOST,
      pciFunction(
        gk210(1, {
          driver: "nvidia",
          link: ["16", "2.5 GT/s PCIe", "16", "8.0 GT/s PCIe"],
        }),
      ),
    ),
    finds: [],
  },
  {
    name: "an IOMMU that turns a die away, and one that does not",
    machine: change(
      K80_HOST,
      {
        files: { "sys/kernel/iommu_groups/12": null, "sys/class/iommu/dmar0": null },
        links: {
          "sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/0000:04:10.0/0000:06:00.0/iommu_group":
            "../../../../../../kernel/iommu_groups/12",
        },
      },
      log(
        "[   91.2] DMAR: DRHD: handling fault status reg 2",
        "[  91.201122] DMAR: [DMA Read NO_PASID] Request device [06:00.0] fault addr 0x7fd2000 " +
          "[fault reason 0x06] PTE Read access is not set",
        "[  91.201125] DMAR: [DMA Read NO_PASID] Request device [00:1f.2] fault addr 0x1000",
      ),
    ),
    finds: [{ id: "iommu-fault", about: DIE, says: ["1 access", "group 12 of 1", "iommu=pt"] }],
  },
  ...["0000", "0001"].map((other): Situation => ({
    name: `an IOMMU's fault that may be of domain ${other} or another`,
    machine: change(
      K80_HOST,
      other === "0000"
        ? {}
        : pciFunction({ ...gk210(1), address: "0001:06:00.0", vendor: "0x8086" }),
      log("[  91.2] DMAR: [DMA Read NO_PASID] Request device [06:00.0] fault addr 0x1000"),
    ),
    finds: [
      { id: "iommu-fault", about: DIE, says: other === "0000" ? [] : ["or of 0001:06:00.0"] },
    ],
  })),
  {
    name: "an IOMMU that is on, without faults",
    machine: change(H200_HOST, {
      files: { "sys/kernel/iommu_groups/0": null, "sys/class/iommu/dmar0": null },
    }),
    finds: [],
  },
];
