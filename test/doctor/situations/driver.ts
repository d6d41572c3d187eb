// The kernel's side of the driver: module, release, bindings, overrides, nodes.
import {
  boundDie,
  gk210,
  H200_HOST,
  K80_DEVICES,
  K80_HOST,
  K80_SLOT,
  libraryFiles,
  loadedModule,
  loads,
  loadsOnly,
  PLAIN,
} from "../machines.ts";
import { change, type Change } from "../machine-tree.ts";
import { pciFunction } from "../pci-tree.ts";
import type { Situation } from "../situation.ts";

const [FIRST, SECOND] = ["0000:05:00.0", "0000:06:00.0"] as const;

export const ONE_COUNTED = loads({ devices: K80_DEVICES.slice(0, 1) });

const UNLOADED: Change = {
  files: {
    "sys/module/nvidia": undefined,
    "sys/module/nvidia_uvm": undefined,
    "proc/driver/nvidia": undefined,
    "dev/nvidia0": undefined,
    "dev/nvidia1": undefined,
    "dev/nvidiactl": undefined,
    "dev/nvidia-uvm": undefined,
  },
  modes: {
    "dev/nvidia0": undefined,
    "dev/nvidia1": undefined,
    "dev/nvidiactl": undefined,
    "dev/nvidia-uvm": undefined,
  },
};

/** A die with a driver of another name, instead of nvidia. */
export const withDriver = (driver: string, override = "(null)"): Change => {
  const node = gk210(1, { driver, override });
  const folder = ["sys/devices", ...node.above, node.address].join("/");
  return change(
    { files: {}, links: {}, modes: {}, probes: {}, state: {} },
    { links: { [`${folder}/driver`]: undefined } },
    pciFunction(node),
  );
};

const withoutNode = (name: string): Change => ({
  files: { [`dev/${name}`]: undefined },
  modes: { [`dev/${name}`]: undefined },
});

const inGroup = (group: string): Change => ({ files: { "proc/self/cgroup": `0::${group}\n` } });

const OVERLAY = "overlay / overlay rw,relatime,lowerdir=/var/lib/x 0 0\n";

/** What tells a container that no engine marked. */
const CONTAINERS: readonly (readonly [string, Change, Record<string, string>?])[] = [
  ["of Kubernetes by containerd", inGroup("/kubepods.slice/kubepods-pod1.slice/cri-abc.scope")],
  ["of CRI-O", inGroup("/machine.slice/crio-0123.scope")],
  ["of Docker by systemd", inGroup("/system.slice/docker-0123456789ab.scope")],
  ["of Docker by cgroupfs", inGroup("/docker/0123456789ab")],
  ["of Podman", inGroup("/user.slice/user-0.slice/libpod-0123.scope")],
  ["of LXC", inGroup("/lxc.payload.box/system.slice")],
  ["with a service account", { files: { "run/secrets/kubernetes.io/serviceaccount/token": "x" } }],
  ["with Kubernetes' environment", {}, { KUBERNETES_SERVICE_HOST: "10.0.0.1" }],
  [
    "in namespaces of its own, on an overlay",
    { files: { "proc/self/cgroup": "0::/\n", "proc/mounts": OVERLAY, "proc/1/comm": "sleep\n" } },
  ],
];

const NO_CONTAINERS: readonly (readonly [string, Change])[] = [
  ["a session of a user's", inGroup("/user.slice/user-0.slice/session-3.scope")],
  ["a service that a daemon's is named like", inGroup("/system.slice/docker.service")],
  ["a diskless machine, whose root is an overlay", { files: { "proc/mounts": OVERLAY } }],
];

export const DRIVER: readonly Situation[] = [
  {
    name: "the module is not loaded",
    machine: change(
      K80_HOST,
      UNLOADED,
      loadsOnly(),
      { files: { "lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko": "" } },
      { links: driverLinks() },
    ),
    finds: [{ id: "module-not-loaded", says: ["modprobe nvidia"], severity: "warning" }],
  },
  {
    name: "the module is not loaded, and CUDA is asked for",
    machine: change(K80_HOST, UNLOADED, loadsOnly(), { links: driverLinks() }),
    asked: { backend: "cuda" },
    finds: [{ id: "module-not-loaded", severity: "problem" }],
  },
  {
    name: "no driver at all on a host with a GPU, whose work the software GPU does",
    machine: change(
      K80_HOST,
      UNLOADED,
      { links: driverLinks() },
      {
        files: { "usr/lib/x86_64-linux-gnu": undefined },
        links: { "usr/lib/x86_64-linux-gnu": undefined },
        probes: {
          libcuda: undefined,
          library: { state: "libcuda", report: { state: "not_loaded", message: "no such file" } },
        },
      },
    ),
    finds: [
      { id: "module-not-loaded", severity: "warning" },
      { id: "libcuda-missing", severity: "warning" },
    ],
  },
  {
    name: "a kernel was installed, and the module is built for the old one",
    machine: change(K80_HOST, UNLOADED, { links: driverLinks() }, loadsOnly(), {
      files: {
        "lib/modules/5.15.0-119-generic/kernel/fs/ext4/ext4.ko": "",
        "lib/modules/5.15.0-117-generic/updates/dkms/nvidia.ko": "",
      },
    }),
    finds: [
      {
        id: "module-not-built",
        about: "/lib/modules/5.15.0-119-generic",
        says: ["5.15.0-119-generic", "dkms"],
        severity: "warning",
      },
    ],
  },
  {
    name: "the module has been loading for a while",
    machine: change(K80_SLOT, { files: { "sys/module/nvidia/initstate": "coming\n" } }),
    finds: [{ id: "module-stuck", says: ["being loaded", "initstate"] }],
  },
  {
    name: "the module does not go",
    machine: change(K80_SLOT, { files: { "sys/module/nvidia/initstate": "going\n" } }),
    finds: [{ id: "module-stuck", says: ["being unloaded"] }],
  },
  {
    name: "a window box whose driver loads at boot",
    machine: change(K80_SLOT, {
      files: {
        "etc/modprobe.d/holdfast.conf": "#blacklist nvidia\nblacklist nvidia_drm\n",
        "proc/cmdline": "root=/dev/sda1 modprobe.blacklist=nouveau quiet\n",
      },
    }),
    finds: [{ id: "module-at-boot", says: ["not in the window", "blacklist nvidia"] }],
  },
  {
    name: "a window box whose kernel's command line keeps the driver out is well",
    machine: change(K80_SLOT, {
      files: {
        "etc/modprobe.d": undefined,
        "proc/cmdline": "root=/dev/sda1 modprobe.blacklist=nouveau,nvidia quiet\n",
      },
    }),
    finds: [],
  },
  {
    name: "a driver of today, which has dropped the K80",
    machine: change(
      K80_HOST,
      { links: driverLinks() },
      loadedModule("535.183.01"),
      { files: { "usr/lib/x86_64-linux-gnu/libcuda.so.470.256.02": undefined } },
      { links: { "usr/lib/x86_64-linux-gnu/libcuda.so.1": undefined } },
      libraryFiles("535.183.01"),
      loads({
        path: "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01",
        cudaVersion: 12020,
        initCode: 100,
      }),
      {
        files: {
          "dev/kmsg":
            "4,900,8123456,-;NVRM: The NVIDIA Tesla K80 GPU installed in this system is\\x0a" +
            "NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please\\x0a" +
            "NVRM:  visit http://www.nvidia.com/object/unix.html for more\\x0a" +
            "NVRM:  information.  The 535.183.01 NVIDIA driver will ignore\\x0a" +
            "NVRM:  this GPU.  Continuing probe...\n",
        },
      },
    ),
    finds: [
      { id: "driver-too-new", about: FIRST, says: ["535.183.01", "Kepler ended with R470"] },
      { id: "driver-too-new", about: SECOND, says: ["nvidia-driver-470"] },
      { id: "die-unbound", about: FIRST },
      { id: "die-unbound", about: SECOND },
      { id: "driver-no-start", says: ["100"] },
    ],
  },
  {
    name: "a window box with a driver of today, before anything is loaded",
    machine: change(
      K80_SLOT,
      { files: { "usr/lib/x86_64-linux-gnu/libcuda.so.470.256.02": undefined } },
      { links: { "usr/lib/x86_64-linux-gnu/libcuda.so.1": undefined } },
      libraryFiles("550.90.07"),
      loadsOnly({
        path: "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07",
        cudaVersion: 12040,
      }),
    ),
    finds: [
      { id: "driver-too-new", about: FIRST, says: ["550.90.07", "R470"] },
      { id: "driver-too-new", about: SECOND, says: ["550.90.07", "R470"] },
    ],
  },
  {
    name: "a driver that is too old for us",
    machine: change(
      K80_HOST,
      loadedModule("390.157"),
      { links: { "usr/lib/x86_64-linux-gnu/libcuda.so.1": undefined } },
      { files: { "usr/lib/x86_64-linux-gnu/libcuda.so.470.256.02": undefined } },
      libraryFiles("390.157"),
      {
        probes: {
          libcuda: {
            state: "libcuda",
            report: {
              state: "incomplete",
              message: "libcuda.so.1 has no symbol cuMemcpyHtoDAsync_v2",
            },
          },
        },
      },
    ),
    finds: [
      { id: "driver-too-old", says: ["390.157", "R470"] },
      { id: "libcuda-old", says: ["cuMemcpyHtoDAsync_v2"] },
    ],
  },
  {
    name: "an update replaced the library under the loaded module",
    machine: change(
      K80_HOST,
      { links: { "usr/lib/x86_64-linux-gnu/libcuda.so.1": undefined } },
      libraryFiles("470.256.03"),
      loads({ path: "/usr/lib/x86_64-linux-gnu/libcuda.so.470.256.03", initCode: 803 }),
    ),
    finds: [
      { id: "driver-mismatch", says: ["470.256.02", "470.256.03", "restart"] },
      { id: "driver-no-start", says: ["CUDA_ERROR_SYSTEM_DRIVER_MISMATCH 803"] },
    ],
  },
  {
    name: "a forward-compatibility library, newer than the module by design",
    machine: change(H200_HOST, {
      probes: {
        libcuda: {
          state: "libcuda",
          report: {
            state: "loaded",
            path: "/usr/local/cuda/compat/libcuda.so.580.95.05",
            cudaVersion: 13000,
            initCode: 0,
            devices: [
              {
                ordinal: 0,
                name: "NVIDIA H200",
                pciAddress: "0000:18:00.0",
                computeCapability: [9, 0],
              },
            ],
          },
        },
      },
    }),
    finds: [],
  },
  {
    name: "the open module under a P100",
    machine: change(
      PLAIN,
      pciFunction({
        above: ["pci0000:00"],
        address: FIRST,
        vendor: "0x10de",
        device: "0x15f8",
        class: "0x030200",
        resource: gk210(0).resource,
      }),
      loadedModule("550.90.07", "Open Kernel Module for x86_64"),
      libraryFiles("550.90.07"),
      loads({
        path: "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07",
        cudaVersion: 12040,
        initCode: 100,
      }),
    ),
    finds: [
      { id: "driver-open", about: FIRST, says: ["Pascal", "proprietary"] },
      { id: "die-unbound", about: FIRST },
      { id: "driver-no-start" },
    ],
  },
  {
    name: "nouveau has the second die",
    machine: change(K80_HOST, ONE_COUNTED, withDriver("nouveau")),
    finds: [{ id: "die-nouveau", about: SECOND, says: ["blacklist nouveau"] }],
  },
  {
    name: "a driver that nobody knows has the second die",
    machine: change(K80_HOST, ONE_COUNTED, withDriver("mystery")),
    finds: [{ id: "die-foreign", about: SECOND, says: ["bound to mystery"] }],
  },
  {
    name: "the second die was left without a driver",
    machine: change(K80_HOST, ONE_COUNTED, { links: driverLinks(SECOND) }),
    finds: [{ id: "die-unbound", about: SECOND, says: ["/sys/bus/pci/drivers/nvidia/bind"] }],
  },
  {
    name: "the second die is opted out by the override 'none'",
    machine: change(K80_HOST, ONE_COUNTED, { links: driverLinks(SECOND) }, overridden("none")),
    finds: [{ id: "override-foreign", about: SECOND, says: ["'none'", "echo >"] }],
  },
  {
    name: "our own override is left on a host that maps every die",
    machine: change(
      K80_HOST,
      ONE_COUNTED,
      { links: driverLinks(SECOND) },
      overridden("holdfast-blocked"),
    ),
    finds: [
      {
        id: "override-ours",
        about: SECOND,
        says: ["holdfast-blocked", `echo > /sys/bus/pci/devices/${SECOND}/driver_override`],
      },
    ],
  },
  {
    name: "our own override is left behind the window, whose owner is gone",
    machine: change(K80_SLOT, overridden("holdfast-blocked")),
    finds: [{ id: "override-ours", about: SECOND, says: ["the next bring-up takes it over"] }],
  },
  {
    name: "a bind hangs and holds the device's lock",
    machine: change(K80_SLOT, {
      probes: {
        [`read sys/bus/pci/devices/${SECOND}/driver_override`]: { state: "hung", afterMs: 15_000 },
      },
    }),
    finds: [{ id: "override-hung", about: SECOND, says: ["15 s", "lock"] }],
  },
  {
    name: "a bound die that the driver does not count",
    machine: change(K80_HOST, ONE_COUNTED),
    finds: [{ id: "die-uncounted", about: SECOND, says: ["does not count it"] }],
  },
  {
    name: "nvidia-uvm's node is missing",
    machine: change(K80_HOST, withoutNode("nvidia-uvm"), loads({ initCode: 999 })),
    finds: [
      { id: "node-missing", about: "/dev/nvidia-uvm", says: ["nvidia-modprobe"] },
      { id: "driver-no-start", says: ["999"] },
    ],
  },
  {
    name: "a die's node is missing in a container",
    machine: change(
      K80_HOST,
      { files: { ".dockerenv": "" } },
      withoutNode("nvidia1"),
      loads({ initCode: 999 }),
    ),
    finds: [
      { id: "node-missing", about: "/dev/nvidia1", says: [`die ${SECOND}`, "--device"] },
      { id: "driver-no-start" },
    ],
  },
  {
    name: "a container that was given one die of two is well",
    machine: change(K80_HOST, { files: { ".dockerenv": "" } }, withoutNode("nvidia1"), ONE_COUNTED),
    finds: [],
  },
  ...CONTAINERS.map(([name, container, environment = {}]): Situation => ({
    name: `a container that was given one die of two is well: ${name}`,
    machine: change(K80_HOST, container, withoutNode("nvidia1"), ONE_COUNTED),
    environment,
    finds: [],
  })),
  ...NO_CONTAINERS.map(([name, machine]): Situation => ({
    name: `no container: ${name}`,
    machine: change(K80_HOST, machine, withoutNode("nvidia1"), ONE_COUNTED),
    finds: [
      { id: "node-missing", about: "/dev/nvidia1" },
      { id: "die-uncounted", about: SECOND },
    ],
  })),
  {
    name: "a fresh boot, on which the driver's start made the nodes, or needed none",
    machine: change(K80_HOST, withoutNode("nvidia-uvm"), withoutNode("nvidia1")),
    finds: [],
  },
  {
    name: "behind a window the nodes of a die that was bound are yet to be made",
    machine: change(
      K80_SLOT,
      pciFunction(gk210(0, { driver: "nvidia" })),
      loadedModule("470.256.02"),
      { files: { "dev/nvidiactl": "c 195 255" } },
      boundDie(FIRST, 0, "Tesla K80"),
    ),
    finds: [
      {
        id: "node-missing",
        about: "/dev/nvidia-uvm",
        says: ["nvidia-modprobe -c 0 -u"],
        severity: "warning",
      },
    ],
  },
  {
    name: "nodes that this user may not open",
    machine: change(K80_HOST, loads({ initCode: 304 }), {
      modes: { "dev/nvidia0": 0o660, "dev/nvidia1": 0o666 },
    }),
    user: { uid: 1000, groups: [1000] },
    finds: [
      { id: "node-denied", about: "/dev/nvidia0", says: ["mode 0660"] },
      { id: "driver-no-start", says: ["CUDA_ERROR_OPERATING_SYSTEM 304"] },
    ],
  },
  {
    name: "a service whose device rules leave the driver out",
    machine: change(K80_HOST, loads({ initCode: 100 }), {
      probes: {
        "open dev/nvidiactl": { state: "failed", code: "EPERM", message: "open: EPERM" },
        "open dev/nvidia-uvm": { state: "opened" },
      },
    }),
    finds: [
      { id: "node-cgroup", about: "/dev/nvidiactl", says: ["EPERM", "DeviceAllow"] },
      { id: "driver-no-start" },
    ],
  },
  {
    name: "a node of an earlier load, whose major was given out anew",
    machine: change(K80_HOST, loads({ initCode: 999 }), {
      files: { "dev/nvidia-uvm": "c 236 0", "dev/nvidia0": "some text" },
    }),
    finds: [
      { id: "node-wrong", about: "/dev/nvidia-uvm", says: ["major 236", "major 510"] },
      { id: "node-wrong", about: "/dev/nvidia0", says: ["no device node", "rm /dev/nvidia0"] },
      { id: "driver-no-start" },
    ],
  },
];

/** Takes the driver from these dies, or from both. */
export function driverLinks(...addresses: readonly string[]): Readonly<Record<string, undefined>> {
  const dies = [gk210(0), gk210(1)].filter(
    ({ address }) => addresses.length === 0 || addresses.includes(address),
  );
  return Object.fromEntries(
    dies.map(({ above, address }) => [
      ["sys/devices", ...above, address, "driver"].join("/"),
      undefined,
    ]),
  );
}

export function overridden(override: string): Change {
  const { above, address } = gk210(1);
  const path = ["sys/devices", ...above, address, "driver_override"].join("/");
  return { files: { [path]: `${override}\n` } };
}
