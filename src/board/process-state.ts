/** What /proc says of a process, without anything that waits for the process's own locks. */
import { readNames, readText } from "./sysfs.ts";

export type ProcessState = {
  readonly pid: number;
  readonly parentPid: number;
  /** A process stays in its session when its parent ends, which makes it another's child. */
  readonly sessionId: number;
  /**
   * When it was started, in clock ticks since the machine was: with it a number that was given
   * to another process since is told apart. 0 where /proc does not say.
   */
  readonly startTicks: number;
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
  const form = /^\d+ \((.*)\) (\S) (-?\d+) (.*)$/s.exec(text ?? "");
  if (form === null) return null;
  const [, command = "", state = "", parent = "", rest = ""] = form;
  const fields = rest.split(" ");
  const sessionId = Number(fields[SESSION_FIELD] ?? 0);
  const startTicks = Number(fields[START_FIELD] ?? 0);
  return { pid, parentPid: Number(parent), sessionId, startTicks, command, state };
}

/** Fields 6 and 22 of proc(5)'s stat, counted from the one after the parent. */
const SESSION_FIELD = 1;
const START_FIELD = 17;

/** A process, told from a later one of the same number; `startTicks` 0: any of that number. */
export type ProcessId = { readonly pid: number; readonly startTicks: number };

const ENDED = new Set(["Z", "X"]);

/**
 * A process that is there and has not ended. One whose first thread has ended lives on as long as
 * another thread does, which may be stuck in a call of the kernel. With `startTicks` other than 0,
 * one that was started at another time is another process, and this one has ended.
 */
export function isProcessAlive(root: string, pid: number, startTicks = 0): boolean {
  const found = readProcess(root, pid);
  if (found === null) return false;
  if (startTicks !== 0 && found.startTicks !== startTicks) return false;
  if (!ENDED.has(found.state)) return true;
  return readNames(root, `proc/${pid}/task`).some((thread) => {
    const state = readProcess(root, Number(thread), `proc/${pid}/task/${thread}`)?.state;
    return state !== undefined && !ENDED.has(state);
  });
}

/** The processes of this machine, as far as we may see them. */
export const listPids = (root: string): readonly number[] =>
  readNames(root, "proc").flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []));

/**
 * A process and all that came from it: what it has started, what those have, and what is left of
 * its session where parents have ended. The process itself is the first, where it is still there.
 */
export function readFamily(root: string, pid: number): readonly ProcessState[] {
  const all = listPids(root).flatMap((each) => readProcess(root, each) ?? []);
  const family = all.filter((each) => each.pid === pid);
  const isNew = (each: ProcessState): boolean => !family.includes(each);
  family.push(...all.filter((each) => isNew(each) && each.sessionId === pid));
  // The list grows while it is walked: what a child has started counts too.
  for (const { pid: parent } of family)
    family.push(...all.filter((each) => isNew(each) && each.parentPid === parent));
  return family;
}

/**
 * Which of a family that does not come back is stuck: what cannot be ended now, then what runs in
 * the kernel without end, else the last that was started, for the others wait for it.
 */
export function stuckOne(family: readonly ProcessState[]): ProcessState | null {
  const alive = family.filter(({ state }) => !ENDED.has(state));
  const inState = (wanted: string): ProcessState | undefined =>
    alive.find(({ state }) => state === wanted);
  const latest = [...alive].sort((a, b) => a.startTicks - b.startTicks || a.pid - b.pid).at(-1);
  return inState("D") ?? inState("R") ?? latest ?? null;
}

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
  if (readProcess(root, pid) === null) return `pid ${pid}`;
  return readFamily(root, pid)
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
