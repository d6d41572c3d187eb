/** Who has the driver's devices, the slot, or a die that was given to a guest open. */
import type { MachineFiles } from "../machine-files.ts";

export type DeviceHolder = {
  readonly pid: number;
  /** Its short name, of 15 characters at most. */
  readonly command: string;
  /** What it has open, each once. */
  readonly paths: readonly string[];
};

export type ProcessFacts = {
  readonly holders: readonly DeviceHolder[];
  /** Processes of others, whose open files this user may not see. */
  readonly hiddenCount: number;
};

/** Processes that are looked at, and open files of each: beyond them a machine is not idle. */
const PROCESSES_MAX = 20_000;
const FILES_MAX = 4096;

const DEVICE = /^\/dev\/(nvidia(ctl|-uvm|\d{1,4})|bar_swap|vfio\/(devices\/vfio)?\d{1,6})$/;

/**
 * Reads links and short names only. A command line is memory of that process, and reading it waits
 * for a process that hangs.
 */
export function readProcesses(files: MachineFiles, ownPid: number): ProcessFacts {
  const pids = files.names("proc").filter((name) => /^[1-9]\d*$/.test(name));
  const holders: DeviceHolder[] = [];
  let hiddenCount = 0;
  for (const pid of pids.slice(0, PROCESSES_MAX)) {
    if (files.isLive && Number(pid) === ownPid) continue;
    const paths = openDevices(files, pid);
    if (paths === null) hiddenCount++;
    else if (paths.length > 0) {
      const command = files.text(`proc/${pid}/comm`) ?? "?";
      holders.push({ pid: Number(pid), command, paths });
    }
  }
  return { holders, hiddenCount };
}

/** Null where this user may not look. */
function openDevices(files: MachineFiles, pid: string): readonly string[] | null {
  const folder = `proc/${pid}/fd`;
  if (!files.mayOpen(folder, "read")) return files.exists(folder) ? null : [];
  const targets = files
    .names(folder)
    .slice(0, FILES_MAX)
    .flatMap((name) => files.linkTarget(`${folder}/${name}`) ?? [])
    .filter((target) => DEVICE.test(target));
  return [...new Set(targets)].sort();
}
