/** How much this process may have. */
import type { MachineFiles } from "../machine-files.ts";

/** Null where there is no limit, or it is not told. */
export type LimitFacts = {
  /** The least of the control groups above us. */
  readonly memoryBytesMax: number | null;
  /** Whose limit it is: its file. */
  readonly memoryLimitPath: string | null;
  readonly memoryBytesFree: number | null;
  readonly openFilesMax: number | null;
  readonly lockedBytesMax: number | null;
  readonly addressSpaceBytesMax: number | null;
  readonly sharedMemoryBytes: number | null;
};

/** From here on a limit of cgroup v1 means none. */
const NO_LIMIT_BYTES = 2 ** 60;

/** Groups within groups; systemd nests six deep. */
const GROUPS_MAX = 32;

export function readLimits(files: MachineFiles): LimitFacts {
  const limits = files.text("proc/self/limits") ?? "";
  const soft = (name: string): number | null => {
    const text = new RegExp(`^${name} {2,}(\\d+) `, "m").exec(limits)?.[1];
    return text === undefined ? null : Number(text);
  };
  const memory = readMemoryLimit(files);
  const free = /^MemAvailable:\s+(\d+) kB$/m.exec(files.text("proc/meminfo") ?? "")?.[1];
  return {
    memoryBytesMax: memory?.bytes ?? null,
    memoryLimitPath: memory?.path ?? null,
    memoryBytesFree: free === undefined ? null : Number(free) * 1024,
    openFilesMax: soft("Max open files"),
    lockedBytesMax: soft("Max locked memory"),
    addressSpaceBytesMax: soft("Max address space"),
    sharedMemoryBytes: sharedMemoryOf(files.longText("proc/mounts") ?? ""),
  };
}

type MemoryLimit = { readonly path: string; readonly bytes: number };

function readMemoryLimit(files: MachineFiles): MemoryLimit | null {
  const groups = files.text("proc/self/cgroup") ?? "";
  const unified = /^0::(\/.*)$/m.exec(groups)?.[1] ?? "/";
  const own = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(\/.*)$/m.exec(groups)?.[1] ?? "/";
  const found = [
    ...above(unified).map((path) => `sys/fs/cgroup${path}/memory.max`),
    ...above(own).map((path) => `sys/fs/cgroup/memory${path}/memory.limit_in_bytes`),
  ].flatMap((path) => {
    const text = files.text(path);
    if (text === null || !/^\d+$/.test(text) || Number(text) >= NO_LIMIT_BYTES) return [];
    return [{ path: `/${path}`, bytes: Number(text) }];
  });
  return found.reduce<MemoryLimit | null>(
    (least, each) => (least === null || each.bytes < least.bytes ? each : least),
    null,
  );
}

/** `/a/b` gives `/a/b`, `/a` and the root, which is empty. */
function above(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  const kept = parts.slice(0, GROUPS_MAX);
  return Array.from({ length: kept.length + 1 }, (_, count) =>
    kept
      .slice(0, kept.length - count)
      .map((part) => `/${part}`)
      .join(""),
  );
}

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** The size that /dev/shm was mounted with; without one it is half of the machine's memory. */
function sharedMemoryOf(mounts: string): number | null {
  const options = /^\S+ \/dev\/shm tmpfs (\S+) /m.exec(mounts)?.[1] ?? "";
  const [, size, unit = ""] = /(?:^|,)size=(\d+)([kmg]?)(?:,|$)/.exec(options) ?? [];
  return size === undefined ? null : Number(size) * (UNITS[unit] ?? 1);
}
