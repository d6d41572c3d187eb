// Healthy machines, from which each situation departs: formats as real ones show them.
import type { LibcudaReport } from "../../src/gpu-cuda/mod.ts";
import { change, EMPTY, type Change, type Machine } from "./machine-tree.ts";
import {
  bridgeResource,
  endpointResource,
  FLAGS,
  pciFunction,
  range,
  type PciNode,
} from "./pci-tree.ts";

export const BOOT_ID = "5a1d5c1e-4d0f-4a43-9d4e-6a4c1c1c2f10";

const MIB = 1n << 20n;
const GIB = 1n << 30n;

const LIMITS = [
  "Limit                     Soft Limit           Hard Limit           Units     ",
  "Max cpu time              unlimited            unlimited            seconds   ",
  "Max open files            1024                 1048576              files     ",
  "Max locked memory         8388608              8388608              bytes     ",
  "Max address space         unlimited            unlimited            bytes     ",
  "",
].join("\n");

const MOUNTS = [
  "sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0",
  "tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0",
  "debugfs /sys/kernel/debug debugfs rw,nosuid,nodev,noexec,relatime 0 0",
  "",
].join("\n");

/** Any Linux machine, without GPU. */
export const PLAIN: Machine = change(EMPTY, {
  files: {
    "proc/sys/kernel/osrelease": "5.15.0-119-generic\n",
    "proc/sys/kernel/random/boot_id": `${BOOT_ID}\n`,
    "proc/meminfo": "MemTotal:       65802212 kB\nMemAvailable:   61234568 kB\n",
    "proc/self/limits": LIMITS,
    "proc/self/cgroup": "0::/user.slice/user-0.slice/session-3.scope\n",
    "proc/mounts": MOUNTS,
    "proc/1/comm": "systemd\n",
    "proc/1/fd": null,
    "sys/fs/cgroup/user.slice/memory.max": "max\n",
    "sys/kernel/debug": null,
    "sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
    "dev/kmsg": "6,1,0,-;Linux version 5.15.0-119-generic (buildd@lcy02) (gcc 11.4.0)\n",
  },
});

/** An ELF header up to e_machine: 64-bit x86-64, or what is said. */
export function elf(bits: 32 | 64 = 64, machine = 62): Uint8Array {
  const bytes = Buffer.alloc(64);
  bytes.write("\x7fELF", "latin1");
  bytes[4] = bits === 64 ? 2 : 1;
  bytes.writeUInt16LE(machine, 18);
  return bytes;
}

/** The library's files as the driver's installer lays them out. */
export function libraryFiles(version: string, folder = "usr/lib/x86_64-linux-gnu"): Change {
  return {
    files: { [`${folder}/libcuda.so.${version}`]: elf() },
    links: {
      [`${folder}/libcuda.so.1`]: `libcuda.so.${version}`,
      [`${folder}/libcuda.so`]: "libcuda.so.1",
    },
  };
}

/** The kernel module, loaded. */
export function loadedModule(version: string, flavour = "x86_64 Kernel Module"): Change {
  return {
    files: {
      "sys/module/nvidia/initstate": "live\n",
      "sys/module/nvidia/version": `${version}\n`,
      "sys/module/nvidia_uvm/initstate": "live\n",
      "proc/driver/nvidia/version":
        `NVRM version: NVIDIA UNIX ${flavour}  ${version}  Thu May  2 09:00:00 UTC 2024\n` +
        "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n",
      "proc/devices":
        "Character devices:\n  1 mem\n195 nvidia\n195 nvidia-modeset\n195 nvidiactl\n" +
        "510 nvidia-uvm\n\nBlock devices:\n  8 sd\n",
    },
  };
}

/** What the driver shows of a die in /proc, and its node. */
export function boundDie(address: string, minor: number, model: string): Change {
  return {
    files: {
      [`proc/driver/nvidia/gpus/${address}/information`]: [
        `Model: \t\t ${model}`,
        "IRQ:   \t\t 33",
        "GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000",
        "Video BIOS: \t 80.21.25.00.01",
        "Bus Type: \t PCIe",
        "DMA Size: \t 40 bits",
        "DMA Mask: \t 0xffffffffff",
        `Bus Location: \t ${address}`,
        `Device Minor: \t ${String(minor)}`,
        "",
      ].join("\n"),
      [`dev/nvidia${String(minor)}`]: `c 195 ${String(minor)}`,
    },
    modes: { [`dev/nvidia${String(minor)}`]: 0o666 },
  };
}

const NODES: Change = {
  files: { "dev/nvidiactl": "c 195 255", "dev/nvidia-uvm": "c 510 0" },
  modes: { "dev/nvidiactl": 0o666, "dev/nvidia-uvm": 0o666 },
};

type Loaded = Extract<LibcudaReport, { readonly state: "loaded" }>;

/** The library loads; by default it starts, with these devices. */
export function loads(report: Partial<Loaded> = {}): Change {
  const version = "470.256.02";
  return {
    probes: {
      libcuda: {
        state: "libcuda",
        report: {
          state: "loaded",
          path: `/usr/lib/x86_64-linux-gnu/libcuda.so.${version}`,
          cudaVersion: 11040,
          initCode: 0,
          devices: [],
          ...report,
        },
      },
    },
  };
}

/** The library loads, and is not started. */
export function loadsOnly(report: Partial<Loaded> = {}): Change {
  const { libcuda } = loads({ initCode: null, ...report }).probes ?? {};
  return { probes: { libcuda: undefined, library: libcuda } };
}

/** The two dies of a K80, as the driver counts them. */
export const K80_DEVICES = ["0000:05:00.0", "0000:06:00.0"].map((pciAddress, ordinal) => ({
  ordinal,
  name: "Tesla K80",
  pciAddress,
  computeCapability: [3, 7] as const,
}));

/** Where the addresses of the K80's first die begin, and of its second. */
const WINDOWS = [0x38_0000_0000n, 0x40_0000_0000n] as const;

const DIE_BYTES = 16n * GIB + 32n * MIB;

/** A die of a K80 with its three BARs. */
export function gk210(at: 0 | 1, given: Partial<PciNode> = {}): PciNode {
  const start = WINDOWS[at];
  return {
    above: [
      "pci0000:00",
      "0000:00:02.0",
      "0000:03:00.0",
      at === 0 ? "0000:04:08.0" : "0000:04:10.0",
    ],
    address: at === 0 ? "0000:05:00.0" : "0000:06:00.0",
    vendor: "0x10de",
    device: "0x102d",
    class: "0x030200",
    resource: endpointResource({
      0: range(at === 0 ? 0xf800_0000n : 0xf900_0000n, 16n * MIB, FLAGS.memory),
      1: range(start, 16n * GIB, FLAGS.prefetchable),
      3: range(start + 16n * GIB, 32n * MIB, FLAGS.prefetchable),
    }),
    link: ["16", "8.0 GT/s PCIe", "16", "8.0 GT/s PCIe"],
    ...given,
  };
}

/** A bridge with windows; `prefetchableBytes` 0 is a closed one. */
export function bridge(place: {
  readonly above: readonly string[];
  readonly address: string;
  readonly prefetchable: readonly [start: bigint, bytes: bigint];
}): Change {
  const [start, bytes] = place.prefetchable;
  const isRootPort = place.above.length === 1;
  return pciFunction({
    above: place.above,
    address: place.address,
    vendor: isRootPort ? "0x8086" : "0x10b5",
    device: isRootPort ? "0x6f04" : "0x8747",
    class: "0x060400",
    resource: bridgeResource(
      range(0xf800_0000n, 32n * MIB, FLAGS.bridgeMemory),
      bytes === 0n ? range(0n, 0n, 0n) : range(start, bytes, FLAGS.bridgePrefetchable),
    ),
  });
}

/** The board's switch, and the root port above it, wide enough for both dies. */
export const K80_BRIDGES: readonly Change[] = [
  bridge({
    above: ["pci0000:00"],
    address: "0000:00:02.0",
    prefetchable: [WINDOWS[0], WINDOWS[1] - WINDOWS[0] + DIE_BYTES],
  }),
  bridge({
    above: ["pci0000:00", "0000:00:02.0"],
    address: "0000:03:00.0",
    prefetchable: [WINDOWS[0], WINDOWS[1] - WINDOWS[0] + DIE_BYTES],
  }),
  ...(["0000:04:08.0", "0000:04:10.0"] as const).map((address, at) =>
    bridge({
      above: ["pci0000:00", "0000:00:02.0", "0000:03:00.0"],
      address,
      prefetchable: [WINDOWS[at] ?? 0n, DIE_BYTES],
    }),
  ),
];

/** /proc/iomem of a server with room above 4 GiB. */
const IOMEM = [
  "00000000-00000fff : Reserved",
  "00001000-0009ffff : System RAM",
  "000a0000-000bffff : PCI Bus 0000:00",
  "c7ffc000-fbffffff : PCI Bus 0000:00",
  "  f8000000-f9ffffff : PCI Bus 0000:03",
  "100000000-103fffffff : System RAM",
  "3800000000-77ffffffff : PCI Bus 0000:00",
  "  3800000000-4401ffffff : PCI Bus 0000:03",
  "    3800000000-3c01ffffff : PCI Bus 0000:05",
  "      3800000000-3bffffffff : 0000:05:00.0",
  "",
].join("\n");

/** A server with one K80, both dies mapped and bound, under R470. */
export const K80_HOST: Machine = change(
  PLAIN,
  ...K80_BRIDGES,
  pciFunction(gk210(0, { driver: "nvidia" })),
  pciFunction(gk210(1, { driver: "nvidia" })),
  { files: { "proc/iomem": IOMEM } },
  libraryFiles("470.256.02"),
  loadedModule("470.256.02"),
  NODES,
  boundDie("0000:05:00.0", 0, "Tesla K80"),
  boundDie("0000:06:00.0", 1, "Tesla K80"),
  loads({ devices: K80_DEVICES }),
);

/**
 * A box with a K80 behind one window: nothing is brought up yet, and the second die has no room.
 */
export const K80_SLOT: Machine = change(
  PLAIN,
  ...K80_BRIDGES.slice(0, 3),
  bridge({
    above: ["pci0000:00", "0000:00:02.0", "0000:03:00.0"],
    address: "0000:04:10.0",
    prefetchable: [0n, 0n],
  }),
  pciFunction(gk210(0)),
  pciFunction(
    gk210(1, {
      resource: endpointResource({ 0: range(0xf900_0000n, 16n * MIB, FLAGS.memory) }),
    }),
  ),
  {
    files: {
      "proc/iomem": IOMEM,
      "dev/bar_swap": "c 10 124",
      "etc/modprobe.d/holdfast.conf": "# the driver is loaded by Holdfast\nblacklist nvidia\n",
      "lib/modules/5.15.0-119-generic/modules.dep":
        "kernel/drivers/gpu/drm/nouveau/nouveau.ko: kernel/drivers/video/video.ko\n" +
        "updates/dkms/nvidia.ko:\nupdates/dkms/nvidia-uvm.ko: updates/dkms/nvidia.ko\n",
    },
    modes: { "dev/bar_swap": 0o600 },
  },
  libraryFiles("470.256.02"),
  loadsOnly(),
  {
    probes: {
      slot: {
        state: "slot",
        answer: {
          dieCount: 2,
          occupant: null,
          holderPid: null,
          addresses: ["0000:05:00.0", "0000:06:00.0"],
        },
      },
    },
  },
);

/** A virtual machine with one H200, without bridges and SR-IOV: recorded from a real one. */
export const H200_GUEST: Machine = change(
  PLAIN,
  pciFunction({
    above: ["pci0000:00"],
    address: "0000:00:06.0",
    vendor: "0x10de",
    device: "0x2335",
    class: "0x030200",
    resource: [
      "0x0000104002000000 0x0000104002ffffff 0x000000000014220c",
      "0x0000000000000000 0x0000000000000000 0x0000000000000000",
      "0x0000100000000000 0x0000103fffffffff 0x000000000014220c",
      "0x0000000000000000 0x0000000000000000 0x0000000000000000",
      "0x0000104000000000 0x0000104001ffffff 0x000000000014220c",
      "0x0000000000000000 0x0000000000000000 0x0000000000000000",
      "0x0000000000000000 0x0000000000000000 0x0000000000000000",
    ],
    link: ["16", "32.0 GT/s PCIe", "16", "32.0 GT/s PCIe"],
    driver: "nvidia",
  }),
  loadedModule("580.159.04"),
  {
    files: {
      "proc/iomem": [
        "c0001000-eebfffff : PCI Bus 0000:00",
        "eec00000-febfffff : Reserved",
        "  eec00000-eecfffff : PCI ECAM 0000 [bus 00-00]",
        "    eec00000-eecfffff : PCI Bus 0000:00",
        "100000000-203fffffff : System RAM",
        "4000000000-7fffffffff : PCI Bus 0000:00",
        "100000000000-1fffffffffff : PCI Bus 0000:00",
        "",
      ].join("\n"),
      "proc/driver/nvidia/version":
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  " +
        "(a@b) \n" +
        "GCC version:  gcc version 15.3.0 (GCC) \n",
      "proc/devices":
        "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n238 nvidia-uvm\n" +
        "241 nvidia-caps\n\nBlock devices:\n  7 loop\n",
      "dev/nvidiactl": "c 195 255",
      "dev/nvidia-uvm": "c 238 0",
      "dev/nvidia-uvm-tools": "c 238 1",
      "usr/local/cuda/lib64/stubs/libcuda.so": elf(),
      "etc/ld.so.conf.d/nvidia.conf": "/usr/local/nvidia/lib64\n/usr/local/cuda/compat\n",
    },
  },
  libraryFiles("580.159.04", "usr/local/nvidia/lib64"),
  libraryFiles("580.95.05", "usr/local/cuda/compat"),
  boundDie("0000:00:06.0", 0, "NVIDIA H200"),
  loads({
    path: "/usr/local/nvidia/lib64/libcuda.so.580.159.04",
    cudaVersion: 13000,
    devices: [
      {
        ordinal: 0,
        name: "NVIDIA H200",
        pciAddress: "0000:00:06.0",
        computeCapability: [9, 0],
      },
    ],
  }),
);

/** A host with one H200 under R580, its persistence daemon running, as data centres have it. */
export const H200_HOST: Machine = change(
  PLAIN,
  bridge({
    above: ["pci0000:15"],
    address: "0000:15:01.0",
    prefetchable: [0x2a00_0000_0000n, 256n * GIB + 64n * MIB],
  }),
  pciFunction({
    above: ["pci0000:15", "0000:15:01.0"],
    address: "0000:18:00.0",
    vendor: "0x10de",
    device: "0x2335",
    class: "0x030200",
    resource: endpointResource({
      0: range(0x2a40_4200_0000n, 16n * MIB, FLAGS.prefetchable),
      2: range(0x2a00_0000_0000n, 256n * GIB, FLAGS.prefetchable),
      4: range(0x2a40_4000_0000n, 32n * MIB, FLAGS.prefetchable),
    }),
    link: ["16", "32.0 GT/s PCIe", "16", "32.0 GT/s PCIe"],
    driver: "nvidia",
  }),
  {
    files: {
      "proc/iomem": "2a0000000000-2bffffffffff : PCI Bus 0000:15\n",
      "proc/812/comm": "nvidia-persiste\n",
      "proc/812/fd": null,
    },
    links: { "proc/812/fd/4": "/dev/nvidia0", "proc/812/fd/3": "/dev/nvidiactl" },
  },
  libraryFiles("580.65.06"),
  loadedModule("580.65.06", "Open Kernel Module for x86_64"),
  NODES,
  boundDie("0000:18:00.0", 0, "NVIDIA H200"),
  loads({
    path: "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06",
    cudaVersion: 13000,
    devices: [
      {
        ordinal: 0,
        name: "NVIDIA H200",
        pciAddress: "0000:18:00.0",
        computeCapability: [9, 0],
      },
    ],
  }),
);
