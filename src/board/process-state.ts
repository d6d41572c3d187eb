/** What /proc says of a process, without anything that waits for the process's own locks. */
import { readNames, readText } from "./sysfs.ts";

export type ProcessState = {
  readonly pid: number;
  readonly parentPid: number;
  /** The first 15 bytes of its name: its command line can hang with it, this cannot. */
  readonly command: string;
  /** proc(5): R, S, D (cannot be ended until its call comes back), Z (has ended), … */
  readonly state: string;
};

/** Null where the process is gone, or hidden from us. */
export function readProcess(
  root: string,
  pid: number,
  folder = `proc/${pid}`,
): ProcessState | null {
  const text = readProcText(root, `${folder}/stat`);
  // The name stands in parentheses and may hold some itself.
  const form = /^\d+ \((.*)\) (\S) (-?\d+) /s.exec(text ?? "");
  if (form === null) return null;
  const [, command = "", state = "", parent = ""] = form;
  return { pid, parentPid: Number(parent), command, state };
}

const ENDED = new Set(["Z", "X"]);

/**
 * A process that is there and has not ended. One whose first thread has ended lives on as long as
 * another thread does, which may be stuck in a call of the kernel.
 */
export function isProcessAlive(root: string, pid: number): boolean {
  const found = readProcess(root, pid);
  if (found === null) return false;
  if (!ENDED.has(found.state)) return true;
  return readNames(root, `proc/${pid}/task`).some((thread) => {
    const state = readProcess(root, Number(thread), `proc/${pid}/task/${thread}`)?.state;
    return state !== undefined && !ENDED.has(state);
  });
}

/** The processes of this machine, as far as we may see them. */
export const listPids = (root: string): readonly number[] =>
  readNames(root, "proc").flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []));

/** The kernel function in which a process waits; null where it does not wait or we may not know. */
function readWait(root: string, pid: number): string | null {
  const text = readProcText(root, `proc/${pid}/wchan`);
  return text === null || text === "0" || text === "" ? null : text;
}

/**
 * A process and those that it waits for, each with its state and where in the kernel it waits, e.g.
 * `pid 12 (node), state S; pid 14 (modprobe), state D, in do_init_module`.
 */
export function describeProcess(root: string, pid: number): string {
  const self = readProcess(root, pid);
  if (self === null) return `pid ${pid}`;
  const children = listPids(root).flatMap((each) => readProcess(root, each) ?? []);
  return [self, ...children.filter(({ parentPid }) => parentPid === pid)]
    .map((each) => {
      const wait = readWait(root, each.pid);
      const where = wait === null ? "" : `, in ${wait}`;
      return `pid ${each.pid} (${each.command}), state ${each.state}${where}`;
    })
    .join("; ");
}

/** Hardened machines hide processes of others: that is as good as gone. */
function readProcText(root: string, path: string): string | null {
  try {
    return readText(root, path);
  } catch {
    return null;
  }
}
