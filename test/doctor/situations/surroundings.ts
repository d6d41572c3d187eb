// Node, limits, the state directory, and what could not be looked at.
import { H200_HOST, K80_HOST, K80_SLOT, PLAIN } from "../machines.ts";
import { change } from "../machine-tree.ts";
import type { Situation } from "../situation.ts";

export const SURROUNDINGS: readonly Situation[] = [
  {
    name: "a Node that is too old",
    machine: PLAIN,
    nodeVersion: "v18.20.4",
    finds: [{ id: "node-old", about: "v18.20.4", says: ["20.19"] }],
  },
  {
    name: "an early Node 20",
    machine: PLAIN,
    nodeVersion: "v20.11.1",
    finds: [{ id: "node-old" }],
  },
  { name: "a Node of the next decade", machine: PLAIN, nodeVersion: "v42.0.0", finds: [] },
  {
    name: "a control group above ours leaves little memory",
    machine: change(PLAIN, {
      files: { "sys/fs/cgroup/user.slice/memory.max": "268435456\n" },
    }),
    finds: [
      {
        id: "memory-limit",
        about: "/sys/fs/cgroup/user.slice/memory.max",
        says: ["256 MiB", "by 256 MiB at least"],
      },
    ],
  },
  {
    name: "the same by control groups of the first version",
    machine: change(PLAIN, {
      files: {
        "proc/self/cgroup": "11:memory:/docker/abc\n5:cpu,cpuacct:/docker/abc\n",
        "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "134217728\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      },
    }),
    finds: [{ id: "memory-limit", says: ["128 MiB"] }],
  },
  {
    name: "a machine whose memory is full",
    machine: change(PLAIN, { files: { "proc/meminfo": "MemAvailable:     102400 kB\n" } }),
    finds: [{ id: "memory-low", says: ["100 MiB"] }],
  },
  {
    name: "limits of a process that are too low",
    machine: change(PLAIN, {
      files: {
        "proc/self/limits":
          "Limit                     Soft Limit           Hard Limit           Units     \n" +
          "Max open files            64                   64                   files     \n" +
          "Max locked memory         0                    0                    bytes     \n" +
          "Max address space         8589934592           8589934592           bytes     \n",
      },
    }),
    finds: [
      { id: "open-files", says: ["64 files"] },
      { id: "locked-memory", says: ["0 bytes"] },
      { id: "address-space", says: ["8 GiB"] },
    ],
  },
  {
    name: "a /dev/shm of 1 MiB",
    machine: change(PLAIN, {
      files: { "proc/mounts": "shm /dev/shm tmpfs rw,nosuid,size=1024k 0 0\n" },
    }),
    finds: [{ id: "shm-small", about: "/dev/shm", says: ["1 MiB", "--shm-size"] }],
  },
  {
    name: "the state directory lies below a file",
    machine: change(PLAIN, { files: { "srv/state": "a file" } }),
    stateDirectory: "srv/state/holdfast",
    finds: [{ id: "state-unwritable", says: ["srv/state: it is a file", "--state-dir"] }],
  },
  {
    name: "a state directory that is yet to be made is well",
    machine: PLAIN,
    stateDirectory: "srv/not/yet",
    finds: [],
  },
  {
    name: "the bring-up journal is a folder",
    machine: change(PLAIN, { state: { "bring-up.journal/inside": "" } }),
    finds: [{ id: "journal-unreadable", says: ["bring-up.journal"] }],
  },
  {
    name: "files of daemons that were killed",
    machine: change(PLAIN, {
      files: { "proc/88/comm": "node\n" },
      state: {
        "bridges/0011223344556677.lock": "1 1\n",
        "bridges/0011223344556677.lock.4711": "4711 1\n",
        "bridges/0011223344556677.lock.88": "88 1\n",
      },
    }),
    finds: [{ id: "state-leftovers", says: ["1 file", "lock.4711"] }],
  },
  {
    name: "the kernel's log is closed, and files that cannot be read",
    machine: change(H200_HOST, { files: { "dev/kmsg": undefined, "proc/iomem": null } }),
    user: { uid: 1000, groups: [1000] },
    finds: [{ id: "not-checked", says: ["/proc/iomem", "/dev/kmsg", "need root", "sudo"] }],
  },
  {
    name: "addresses that read as zero, as to users other than root",
    machine: change(K80_HOST, {
      files: {
        "proc/iomem": "00000000-00000000 : PCI Bus 0000:00\n  00000000-00000000 : 0000:05:00.0\n",
      },
    }),
    user: { uid: 1000, groups: [1000] },
    finds: [{ id: "not-checked", says: ["/proc/iomem (EACCES)"] }],
  },
  {
    name: "a die's own files that could not be asked",
    machine: change(K80_SLOT, {
      probes: {
        "read sys/bus/pci/devices/0000:05:00.0/config": {
          state: "failed",
          code: "EIO",
          message: "read: EIO",
        },
      },
    }),
    finds: [{ id: "not-checked", says: ["config of 0000:05:00.0 (EIO)"] }],
  },
];
