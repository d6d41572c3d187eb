import { CUDA_SUCCESS } from "../../gpu-cuda/mod.ts";
import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { DeviceNode } from "../facts/nodes.ts";
import type { Finding } from "../finding.ts";
import { boundDies, isCounted, startedLibcuda } from "./wanted.ts";

/** The driver's own major, by its names over the years. */
const DRIVER_NAMES = ["nvidia", "nvidia-frontend"] as const;

/** Whether the nodes through which the driver is reached are there, right, and open to us. */
export const nodes: Check = {
  id: "nodes",
  title: "/dev/nvidiactl, /dev/nvidia-uvm and a node for each bound die are there and open to us",
  scope: "gpu",
  findings: ["node-missing", "node-denied", "node-wrong", "node-cgroup"],
  run: (facts) => {
    // Without the driver nothing makes them; another check says that.
    if (facts.driver.state !== "live" || boundDies(facts).length === 0) return [];
    return [...missing(facts), ...facts.nodes.nodes.flatMap((node) => wrong(facts, node) ?? [])];
  },
};

function missing(facts: Facts): readonly Finding[] {
  const there = new Set(facts.nodes.nodes.map(({ path }) => path));
  const started = startedLibcuda(facts);
  const isStarted = started?.initCode === CUDA_SUCCESS;
  // What the driver counts it has reached, wherever its nodes are.
  const ofDies = boundDies(facts).flatMap((die) =>
    die.minor === null || isCounted(facts, die)
      ? []
      : [{ path: `/dev/nvidia${die.minor}`, of: `die ${die.address}` }],
  );
  const ofDriver = [
    { path: "/dev/nvidiactl", of: "the driver" },
    { path: "/dev/nvidia-uvm", of: "unified memory, which cuInit needs" },
  ];
  const wanted = isStarted ? ofDies : [...ofDriver, ...ofDies];
  // A container that was given some of the dies is well with those.
  const isGivenSome = facts.runtime.isContainer && (started?.devices.length ?? 0) > 0;
  const isWindowed = facts.slotKind === "bar_swap";
  return wanted
    .filter(({ path }) => !there.has(path) && !(isGivenSome && /\d$/.test(path)))
    .map(({ path, of }) => ({
      id: "node-missing",
      // The driver's start makes what is missing, where its tool is installed; nobody started it.
      severity: started === null ? "warning" : "problem",
      subject: path,
      message: `the node of ${of} is not there`,
      mend: facts.runtime.isContainer
        ? "pass it into the container (--gpus, or --device for each node)"
        : "have the driver's tool make it, which also loads nvidia-uvm",
      command: facts.runtime.isContainer
        ? `docker run --device ${path} …`
        : `nvidia-modprobe -c 0 -u${isWindowed ? "" : " && nvidia-smi"}`,
    }));
}

function wrong(facts: Facts, node: DeviceNode): Finding | null {
  const major = majorOf(facts, node.path);
  if (node.major === null || (major !== null && node.major !== major)) {
    const is = node.major === null ? "no device node" : `of major ${node.major}`;
    return {
      id: "node-wrong",
      severity: "problem",
      subject: node.path,
      message: `it is ${is}; the loaded driver has major ${major ?? "?"}`,
      mend: "it is left from another load of the driver: remove it and have it made anew",
      command: `rm ${node.path} && nvidia-modprobe -c 0 -u`,
    };
  }
  if (node.mayOpen || node.path.endsWith("-tools")) return closed(node);
  return {
    id: "node-denied",
    severity: "problem",
    subject: node.path,
    message: `this user may not open it (mode ${node.mode.toString(8).padStart(4, "0")})`,
    mend: "add the user to the node's group, or let the driver make nodes for all (0666)",
    command: `ls -l ${node.path}; id`,
  };
}

/** The file's mode says yes, and the kernel no: a container's device rules. */
function closed(node: DeviceNode): Finding | null {
  const { opened, path } = node;
  if (opened.state !== "failed" || (opened.code !== "EPERM" && opened.code !== "EACCES"))
    return null;
  return {
    id: "node-cgroup",
    severity: "problem",
    subject: path,
    message: `its mode lets us, and opening it fails with ${opened.code}: a device rule forbids it`,
    mend: "allow the driver's devices in the control group (--device, DeviceAllow=char-nvidia rw)",
    command: "cat /sys/fs/cgroup/devices/devices.list; systemctl show -p DevicePolicy,DeviceAllow",
  };
}

function majorOf({ nodes: { majors } }: Facts, path: string): number | null {
  if (path.includes("uvm")) return majors.get("nvidia-uvm") ?? null;
  const name = DRIVER_NAMES.find((each) => majors.has(each));
  return name === undefined ? null : (majors.get(name) ?? null);
}
