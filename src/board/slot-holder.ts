/** Who has the slot: who acquired it, as long as that process is there and has the device open. */
import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { isProcessAlive, readProcess } from "./process-state.ts";
import { readNames } from "./sysfs.ts";

/** A process that we must not take the slot from. */
export type SlotHolder = { readonly pid: number; readonly command: string };

/**
 * The living process that holds the slot, unless it is `ownPid`. Null where it has ended, or where
 * the number has been given to another process since, which shows in that it has not got the device
 * open; one whose descriptors are hidden from us is taken to hold it.
 */
export function foreignHolder(
  root: string,
  query: { readonly holderPid: number | null; readonly ownPid: number | null },
  devicePath: string,
): SlotHolder | null {
  const { holderPid, ownPid } = query;
  if (holderPid === null || holderPid <= 0 || holderPid === ownPid) return null;
  if (!isProcessAlive(root, holderPid)) return null;
  const found = readProcess(root, holderPid);
  // The descriptors of a process whose first thread has ended are not shown.
  const isShown = found?.state !== "Z";
  if (isShown && hasOpen(root, holderPid, (path) => path === devicePath) === "no") return null;
  return { pid: holderPid, command: found?.command ?? "?" };
}

/** Whether a process has such a file open; `hidden` where we may not see. */
export function hasOpen(
  root: string,
  pid: number,
  isIt: (path: string) => boolean,
): "yes" | "no" | "hidden" {
  const paths = openPaths(root, pid);
  if (paths === null) return "hidden";
  return paths.some(isIt) ? "yes" : "no";
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
