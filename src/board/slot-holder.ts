/** Who has the slot: who acquired it, as long as that process is there and has the device open. */
import { readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { isProcessAlive, readProcess } from "./process-state.ts";
import { readNames } from "./sysfs.ts";

/** A process that we must not take the slot from; `pid` null where it has no number here. */
export type SlotHolder = { readonly pid: number | null; readonly command: string };

/** One that lives outside of our pid namespace: in another container, or outside of ours. */
const UNSEEN: SlotHolder = { pid: null, command: "outside of this container" };

/**
 * The living process that holds the slot, unless it is `ownPid`. Null where it has ended, or where
 * the number has been given to another process since, which shows in that it has not got the device
 * open; one that is hidden from us, or whose descriptors are, is taken to hold it.
 */
export function foreignHolder(
  root: string,
  query: { readonly holderPid: number | null; readonly ownPid: number | null },
  devicePath: string,
): SlotHolder | null {
  const { holderPid, ownPid } = query;
  if (holderPid === null || holderPid === ownPid) return null;
  if (holderPid <= 0) return UNSEEN;
  const found = readProcess(root, holderPid);
  // With hidepid the processes of others are not shown, the first one neither.
  const isHidden = found === null && readProcess(root, FIRST_PID) === null;
  if (isHidden) return { pid: holderPid, command: "?" };
  if (!isProcessAlive(root, holderPid)) return null;
  // The descriptors of a process whose first thread has ended are not shown.
  const isShown = found?.state !== "Z";
  if (isShown && hasOpen(root, holderPid, devicePath) === "no") return null;
  return { pid: holderPid, command: found?.command ?? "?" };
}

/** The process that every pid namespace has. */
const FIRST_PID = 1;

/** `pid 12 (node)`, or where it is when it has no number here. */
export const describeHolder = ({ pid, command }: SlotHolder): string =>
  pid === null ? `a process ${command}` : `pid ${pid} (${command})`;

/**
 * Whether a process has the device open; `hidden` where we may not see. Devices are told by their
 * number: a node may have been removed since, or be reached by another name.
 */
function hasOpen(root: string, pid: number, devicePath: string): "yes" | "no" | "hidden" {
  const paths = openPaths(root, pid);
  if (paths === null) return "hidden";
  const device = deviceOf(join(root, devicePath));
  const folder = join(root, `proc/${pid}/fd`);
  const isIt = (path: string): boolean => path.replace(/ \(deleted\)$/, "") === devicePath;
  if (paths.some(isIt)) return "yes";
  if (device === null) return "no";
  const names = readNames(root, `proc/${pid}/fd`);
  return names.some((name) => deviceOf(join(folder, name)) === device) ? "yes" : "no";
}

/** Number of the character device there; null where there is none. */
function deviceOf(path: string): number | null {
  try {
    const found = statSync(path);
    return found.isCharacterDevice() ? found.rdev : null;
  } catch {
    return null;
  }
}

/** What a process has open; null where we may not see. None where it has just ended. */
export function openPaths(root: string, pid: number): readonly string[] | null {
  const folder = `proc/${pid}/fd`;
  let names: readonly string[];
  try {
    names = readNames(root, folder);
  } catch {
    return null;
  }
  return names.flatMap((name) => {
    try {
      return [readlinkSync(join(root, folder, name))];
    } catch {
      // It was closed while we looked.
      return [];
    }
  });
}
