/**
 * Who has a die's device open. A driver that is told to let go of a die waits without end for every
 * one of them, and cannot be called off (NVIDIA's, in nv-pci.c).
 */
import type { Holder } from "./board.ts";
import { listPids, readProcess } from "./process-state.ts";
import { openPaths } from "./slot-holder.ts";
import { readText } from "./sysfs.ts";

/** `/dev/nvidia3`: a die. nvidiactl and nvidia-uvm are of no die. */
const DIE_NODE = /^\/dev\/nvidia\d+$/;

/** The device node of a die, which the driver alone knows; null where it does not say. */
export function nodeOf(root: string, name: string): string | null {
  const text = readText(root, `proc/driver/nvidia/gpus/${name}/information`);
  const minor = /^Device Minor:\s*(\d+)/m.exec(text ?? "")?.[1];
  return minor === undefined ? null : `/dev/nvidia${minor}`;
}

export type DieHolder = Holder & {
  readonly parentPid: number;
  /** False where the driver does not say which node is this die's: it may be another die's. */
  readonly isCertain: boolean;
};

/** Every process that has the die's device node open, or, where that is not known, any die's. */
export function findHolders(root: string, name: string): readonly DieHolder[] {
  const node = nodeOf(root, name);
  const isIt = (path: string): boolean => (node === null ? DIE_NODE.test(path) : path === node);
  return listPids(root).flatMap((pid) => {
    const path = openPaths(root, pid)?.find(isIt);
    const found = path === undefined ? null : readProcess(root, pid);
    if (path === undefined || found === null || found.state === "Z") return [];
    const { command, parentPid } = found;
    return [{ pid, command, path, parentPid, isCertain: node !== null }];
  });
}

/** NVIDIA's daemon that keeps dies open for nobody; its name is cut to what /proc shows. */
const PERSISTENCE_DAEMON = "nvidia-persiste";

/** Holders as a message names them, and what to do. */
export function describeHolders(holders: readonly DieHolder[]): string {
  const list = holders.map(({ pid, command, path, isCertain }) => {
    return `pid ${pid} (${command}) has ${isCertain ? path : `${path}, one of the dies,`} open`;
  });
  const hasDaemon = holders.some(({ command }) => command.startsWith(PERSISTENCE_DAEMON));
  const mend = hasDaemon ? "stop nvidia-persistenced first" : "end them first";
  return `${list.join("; ")}; ${mend}`;
}
