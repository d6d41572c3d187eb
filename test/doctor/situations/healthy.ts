// Machines with which nothing is wrong: a finding here is a false alarm.
import {
  boundDie,
  gk210,
  H200_GUEST,
  H200_HOST,
  K80_HOST,
  K80_SLOT,
  libraryFiles,
  loadedModule,
  loadsOnly,
  PLAIN,
} from "../machines.ts";
import { change } from "../machine-tree.ts";
import { pciFunction } from "../pci-tree.ts";
import type { Situation } from "../situation.ts";

export const HEALTHY: readonly Situation[] = [
  { name: "an empty folder", machine: { ...PLAIN, files: {} }, finds: [] },
  { name: "a laptop without a GPU", machine: PLAIN, finds: [] },
  {
    name: "a laptop whose graphics are Intel's",
    machine: change(
      PLAIN,
      pciFunction({
        above: ["pci0000:00"],
        address: "0000:00:02.0",
        vendor: "0x8086",
        device: "0x46a6",
        class: "0x030000",
        resource: ["0x0000006000000000 0x0000006000ffffff 0x0000000000140204"],
      }),
    ),
    finds: [],
  },
  {
    name: "a container of a build service",
    machine: change(PLAIN, {
      files: {
        ".dockerenv": "",
        "dev/kmsg": undefined,
        "sys/kernel/debug": undefined,
        "sys/fs/cgroup/user.slice": undefined,
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": "4294967296\n",
        "proc/mounts": "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n",
      },
    }),
    finds: [],
  },
  { name: "a host with an H200", machine: H200_HOST, finds: [] },
  {
    name: "the same, with CUDA asked for",
    machine: H200_HOST,
    asked: { backend: "cuda" },
    finds: [],
  },
  { name: "a virtual machine with an H200", machine: H200_GUEST, finds: [] },
  { name: "a host with a K80, both dies mapped", machine: K80_HOST, finds: [] },
  { name: "a K80 behind one window, before the bring-up", machine: K80_SLOT, finds: [] },
  {
    name: "a K80 behind one window, brought up, its owner at work",
    machine: change(
      K80_SLOT,
      pciFunction(gk210(0, { driver: "nvidia" })),
      pciFunction({
        ...gk210(1, { override: "holdfast-blocked" }),
        resource: ["0x00000000f9000000 0x00000000f9ffffff 0x0000000000040200"],
      }),
      loadedModule("470.256.02"),
      { files: { "dev/nvidiactl": "c 195 255", "dev/nvidia-uvm": "c 510 0" } },
      boundDie("0000:05:00.0", 0, "Tesla K80"),
      loadsOnly(),
      {
        files: { "proc/700/comm": "node\n", "proc/700/fd": null, "proc/701/comm": "node\n" },
        links: { "proc/700/fd/20": "/dev/bar_swap", "proc/701/fd/9": "/dev/nvidia0" },
      },
    ),
    finds: [],
  },
  {
    name: "a machine whose broken GPU is of no interest",
    machine: change(K80_HOST, { files: { "sys/module/nvidia": undefined } }),
    asked: { backend: "soft" },
    finds: [],
  },
  {
    name: "a sandbox that hides the bus and has the GPU",
    machine: change(PLAIN, libraryFiles("580.65.06"), {
      probes: H200_HOST.probes,
      files: { ".dockerenv": "", "dev/nvidiactl": "c 195 255", "dev/nvidia0": "c 195 0" },
    }),
    finds: [],
  },
];
