/** Where the kernel test keeps what it downloads and what a run makes. */
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RAM_BYTES } from "./guest.ts";
import { SkipGate } from "./skip.ts";

/** What guest, emulator and daemon use at once; measured 1.1 GiB. */
const MEMORY_BYTES_MIN = 2 * 2 ** 30;

const SHARED_MEMORY = "/dev/shm";

/** Kept between runs: it outlives an `npm ci`, and is nobody's but ours. */
export function openCache(): string {
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `holdfast-kernel-test-${String(uid)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Anybody may make names in the temporary folder, and what is kept here is run as a kernel.
  const info = lstatSync(folder);
  if (!info.isDirectory() || info.uid !== uid || (info.mode & 0o022) !== 0) {
    throw new Error(`${folder} can be written to by others: remove it, and run the test again`);
  }
  return folder;
}

/** A folder of this run alone, in which guest and daemon write. */
export function makeRunFolder(cache: string): string {
  const folder = makeOwnFolder(cache, "run");
  for (const name of ["share", "state"]) mkdirSync(join(folder, name));
  mkdirSync(join(folder, "share", "v1"));
  return folder;
}

/** A folder for the guest's RAM, in memory where there is room. Skips where there is none. */
export function chooseRamFolder(cache: string): string {
  const line = /^MemAvailable: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
  if (Number(line?.[1] ?? 0) * 1024 < MEMORY_BYTES_MIN) {
    throw new SkipGate("2 GiB of memory are not available");
  }
  const fitting = [SHARED_MEMORY, cache].find((folder) => existsSync(folder) && hasRoom(folder));
  if (fitting === undefined) {
    throw new SkipGate(`neither ${SHARED_MEMORY} nor ${cache} has room for the guest's RAM`);
  }
  return makeOwnFolder(fitting, "holdfast-ram");
}

/**
 * A folder whose name tells whose it is; what runs that were killed left under such names goes, a
 * gigabyte of memory at worst.
 */
function makeOwnFolder(parent: string, name: string): string {
  for (const entry of readdirSync(parent)) {
    const pid = new RegExp(`^${name}-(\\d+)-`).exec(entry)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    const folder = join(parent, entry);
    if (lstatSync(folder).uid === process.getuid?.()) rmSync(folder, { recursive: true });
  }
  return mkdtempSync(join(parent, `${name}-${String(process.pid)}-`));
}

function hasRoom(folder: string): boolean {
  const info = statfsSync(folder);
  // The file is sparse; but where it cannot grow, the guest's memory access is qemu's end.
  return info.bavail * info.bsize >= RAM_BYTES;
}
