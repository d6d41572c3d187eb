// Dies that are for others, and dies that want another driver than their neighbours.
import {
  gk210,
  H200_HOST,
  K80_HOST,
  K80_SLOT,
  libraryFiles,
  loadedModule,
  loads,
  PLAIN,
} from "../machines.ts";
import { change, type Change } from "../machine-tree.ts";
import { endpointResource, FLAGS, pciFunction, range } from "../pci-tree.ts";
import type { Situation } from "../situation.ts";
import { driverLinks, ONE_COUNTED, overridden, withDriver } from "./driver.ts";

const [FIRST, SECOND] = ["0000:05:00.0", "0000:06:00.0"] as const;

const SECOND_FOLDER = ["sys/devices", ...gk210(1).above, SECOND].join("/");

/** A guest's emulator that runs, and the group of the second die, which it has open. */
const GUEST: Change = {
  files: { "proc/900/comm": "qemu-system-x86\n", "proc/900/fd": null },
  links: {
    "proc/900/fd/9": "/dev/vfio/14",
    [`${SECOND_FOLDER}/iommu_group`]: "../../../../../../../kernel/iommu_groups/14",
  },
};

const NO_LIBRARY = { state: "not_loaded", message: "no such file" } as const;

const DISPLAY = "0000:19:00.0";

/** A card for a display. */
const display = (device: string, driver?: string): Change =>
  pciFunction({
    above: ["pci0000:16", "0000:16:01.0"],
    address: DISPLAY,
    vendor: "0x10de",
    device,
    class: "0x030000",
    resource: endpointResource({
      0: range(0xf000_0000n, 16n << 20n, FLAGS.memory),
      1: range(0xe000_0000n, 256n << 20n, FLAGS.prefetchable),
    }),
    ...(driver === undefined ? {} : { driver }),
  });

export const SHARED_HOST: readonly Situation[] = [
  {
    name: "vfio-pci has the second die, by an override",
    machine: change(K80_HOST, ONE_COUNTED, withDriver("vfio-pci", "vfio-pci")),
    finds: [{ id: "die-held", about: SECOND, says: ["vfio-pci"], severity: "note", command: null }],
  },
  {
    name: "a guest that runs has the second die open, by its group",
    machine: change(K80_HOST, ONE_COUNTED, withDriver("vfio-pci", "vfio-pci"), GUEST),
    finds: [
      {
        id: "die-held",
        about: SECOND,
        says: ["qemu-system-x86 (pid 900) has it open"],
        severity: "note",
        command: null,
      },
    ],
  },
  {
    name: "a guest's emulator with iommufd has the second die open",
    machine: change(K80_HOST, ONE_COUNTED, withDriver("vfio-pci"), {
      files: {
        [`${SECOND_FOLDER}/vfio-dev/vfio3/dev`]: "511:3\n",
        "proc/900/comm": "qemu-system-x86\n",
        "proc/900/fd": null,
      },
      links: { "proc/900/fd/9": "/dev/vfio/devices/vfio3" },
    }),
    finds: [{ id: "die-held", says: ["pid 900"], severity: "note", command: null }],
  },
  {
    name: "the second die waits for a guest, without a driver",
    machine: change(K80_HOST, ONE_COUNTED, { links: driverLinks(SECOND) }, overridden("vfio-pci")),
    finds: [{ id: "override-foreign", about: SECOND, severity: "note", command: null }],
  },
  {
    name: "behind the window a die that was given to a guest stands in the way",
    machine: change(K80_SLOT, withDriver("vfio-pci", "vfio-pci"), GUEST),
    finds: [
      {
        id: "die-held",
        about: SECOND,
        says: ["pid 900", "end the guest"],
        severity: "problem",
        command: null,
      },
    ],
  },
  {
    name: "the only GPU was given to a guest, and the software GPU serves",
    machine: change(PLAIN, pciFunction(gk210(0, { driver: "vfio-pci", override: "vfio-pci" })), {
      probes: { library: { state: "libcuda", report: NO_LIBRARY } },
    }),
    finds: [{ id: "die-held", about: FIRST, severity: "note" }],
  },
  {
    name: "the only GPU was given to a guest, and CUDA is asked for",
    machine: change(PLAIN, pciFunction(gk210(0, { driver: "vfio-pci", override: "vfio-pci" })), {
      probes: { library: { state: "libcuda", report: NO_LIBRARY } },
    }),
    asked: { backend: "cuda" },
    finds: [
      { id: "die-held", about: FIRST, severity: "problem", command: null },
      { id: "libcuda-missing" },
    ],
  },
  {
    name: "a display card of Kepler on nouveau beside an H200",
    machine: change(H200_HOST, display("0x128b", "nouveau")),
    finds: [
      {
        id: "driver-too-new",
        about: DISPLAY,
        says: ["Kepler ended with R470", "one driver serves all dies", "leave it unused"],
        severity: "note",
        command: null,
      },
    ],
  },
  {
    name: "the same without a driver of its own",
    machine: change(H200_HOST, display("0x128b")),
    finds: [{ id: "driver-too-new", about: DISPLAY, severity: "note", command: null }],
  },
  ...["0x1080", "0x104a", "0x0de1"].map((device): Situation => ({
    name: `a display card of Fermi (${device}) on nouveau beside a K80`,
    machine: change(K80_HOST, display(device, "nouveau")),
    finds: [
      {
        id: "die-too-old",
        about: DISPLAY,
        says: ["Fermi ended with driver R390", "needs R470"],
        severity: "note",
        command: null,
      },
    ],
  })),
  ...["390.157", "470.256.02"].map((version): Situation => ({
    name: `a Fermi alone under ${version}: no driver is named that the next run would refuse`,
    machine: change(
      PLAIN,
      display("0x1080", "nvidia"),
      loadedModule(version),
      libraryFiles(version),
      loads({ path: `/usr/lib/x86_64-linux-gnu/libcuda.so.${version}`, initCode: 100 }),
      { files: { "dev/nvidiactl": "c 195 255", "dev/nvidia-uvm": "c 510 0" } },
    ),
    finds: [
      { id: "die-too-old", about: DISPLAY, severity: "warning", command: null },
      { id: "driver-no-start" },
    ],
  })),
  {
    name: "a K80 beside an H200 under the H200's driver: one driver cannot be said to serve both",
    machine: change(H200_HOST, pciFunction(gk210(0))),
    finds: [
      {
        id: "driver-too-new",
        about: FIRST,
        says: ["it needs R470; see that R470 knows "],
        severity: "note",
        command: null,
      },
    ],
  },
];
