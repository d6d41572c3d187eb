/** Gathers all facts: what is read from files, and what a child process is asked. */
import type { SlotKind } from "../board/mod.ts";
import type { Asked, DebugfsFacts, Environment, Facts, RuntimeFacts } from "./facts.ts";
import { findGpus, readDies, readFunctions } from "./facts/dies.ts";
import { readDriver } from "./facts/driver.ts";
import { readKernelLog } from "./facts/kernel-log-facts.ts";
import { findLibcuda } from "./facts/libcuda-files.ts";
import { readLimits } from "./facts/limits.ts";
import { readNodes } from "./facts/nodes.ts";
import { readProcesses } from "./facts/processes.ts";
import { readSecurity } from "./facts/security.ts";
import { readState } from "./facts/state.ts";
import { readBridges, readRootWindows } from "./facts/windows.ts";
import { createMachineFiles, type MachineFiles, type User } from "./machine-files.ts";
import type { ProbeJob, Prober, ProbeResult } from "./prober.ts";

export type GatherOptions = {
  /** `/`, or a tree that stands for it. */
  readonly root: string;
  /** Absolute, and of this machine. */
  readonly stateDirectory: string;
  readonly asked: Asked;
  readonly environment: Environment;
  readonly nodeVersion: string;
  readonly architecture: string;
  readonly user: User;
  /** The doctor's own process, which is nobody's holder. */
  readonly pid: number;
  readonly prober: Prober;
};

const BAR_SWAP = "dev/bar_swap";

/** What tells a container: its engine's mark, or who started the first process. */
const CONTAINER_MARKS = [
  ...[".dockerenv", "run/.containerenv", "run/systemd/container"],
  ...["run/secrets/kubernetes.io/serviceaccount", "var/run/secrets/kubernetes.io/serviceaccount"],
] as const;

/** Control groups by which container engines name theirs; their daemons' are `docker.service`. */
const CONTAINER_GROUP = /\/(kubepods|cri-containerd-|crio-|libpod-|docker[/-]|lxc[/.])/;

/** Whoever starts the first process of a machine, by its short name. */
const MACHINE_INITS: readonly (string | null)[] = ["systemd", "init", "runit", "openrc-init"];

function isInContainer(files: MachineFiles, environment: Environment): boolean {
  if (CONTAINER_MARKS.some((mark) => files.exists(mark))) return true;
  if (environment["KUBERNETES_SERVICE_HOST"] !== undefined) return true;
  if (CONTAINER_GROUP.test(files.text("proc/self/cgroup") ?? "")) return true;
  // In a control group namespace the path is `/`. Diskless machines have an overlay as root too.
  const isOverlay = /^\S+ \/ (overlay|fuse-overlayfs) /m.test(files.longText("proc/mounts") ?? "");
  return isOverlay && !MACHINE_INITS.includes(files.text("proc/1/comm"));
}

/** Reads everything once. Never throws for what it finds; what it may not read is in `denied`. */
export async function gatherFacts(options: GatherOptions): Promise<Facts> {
  const { asked, environment, prober, architecture } = options;
  const files = createMachineFiles(options);
  const runtime = readRuntime(files, options);
  const functions = readFunctions(files);
  const slotKind = asked.slot ?? slotOf(files);
  const gpus = findGpus(files, functions);
  const driver = readDriver(files, runtime.kernelRelease);
  const isLive = driver.state === "live";
  const mayStart =
    slotKind !== "bar_swap" &&
    mayStartDriver(files, isLive) &&
    !gpus.some(({ power }) => power.isAsleep);
  const askLibcuda = async (): Promise<readonly ProbeResult[]> =>
    asked.backend === "soft" ? [] : prober([{ kind: mayStart ? "libcuda" : "library" }]);
  // Side by side: to start a driver takes longer than all else, and makes nodes.
  const [[libcuda, nodes], dies, [slotAnswer]] = await Promise.all([
    askLibcuda().then(async ([answer = NOT_ASKED]) => {
      return [answer, await readNodes(files, prober, isLive)] as const;
    }),
    readDies({ files, gpus, prober }),
    slotKind === "bar_swap" && files.exists(BAR_SWAP) ? prober([SLOT_JOB]) : [],
  ]);
  return {
    asked,
    slotKind,
    runtime,
    environment,
    dies,
    functions: functions.map(({ name }) => name),
    bridges: readBridges(files, functions),
    rootWindows: dies.length === 0 ? [] : readRootWindows(files),
    driver,
    nodes,
    libraries: findLibcuda({ files, environment, architecture }),
    libcuda,
    slot: {
      isThere: files.exists(BAR_SWAP),
      mayOpen: files.mayOpen(BAR_SWAP, "read") && files.mayOpen(BAR_SWAP, "write"),
      answer: slotAnswer ?? NOT_ASKED,
    },
    processes: readProcesses(files, options.pid),
    security: readSecurity(files),
    debugfs: readDebugfs(files),
    iommu: {
      units: files.names("sys/class/iommu"),
      groupCount: files.names("sys/kernel/iommu_groups").length,
    },
    log: readKernelLog(files),
    limits: readLimits(files),
    state: readState(files, options.stateDirectory),
    denied: files.denied(),
  };
}

const NOT_ASKED = { state: "not_asked" } as const;
const SLOT_JOB: ProbeJob = { kind: "slot" };

/**
 * Whether to start the driver changes nothing. Where its module is not loaded, libcuda has a
 * setuid program load it, which probes every die; on a machine with a window it opens dies that
 * are not mapped. Windows' Linux has a device of its own, without any module.
 */
const mayStartDriver = (files: MachineFiles, isLive: boolean): boolean =>
  !files.exists(BAR_SWAP) && (isLive || files.exists(WINDOWS_DEVICE));

const WINDOWS_DEVICE = "dev/dxg";

/** A machine with the slot's device is there to be driven through it. */
const slotOf = (files: MachineFiles): SlotKind => (files.exists(BAR_SWAP) ? "bar_swap" : "direct");

function readRuntime(files: MachineFiles, options: GatherOptions): RuntimeFacts {
  const { nodeVersion, architecture, user } = options;
  const isContainer = isInContainer(files, options.environment);
  const kernelRelease = files.text("proc/sys/kernel/osrelease");
  return { nodeVersion, architecture, user, isContainer, kernelRelease };
}

function readDebugfs(files: MachineFiles): DebugfsFacts {
  const mounts = files.longText("proc/mounts") ?? "";
  return {
    isKnown: files.exists("sys/kernel/debug"),
    isMounted: /^\S+ \/sys\/kernel\/debug debugfs /m.test(mounts),
    mayRead: files.mayOpen("sys/kernel/debug", "read"),
  };
}
