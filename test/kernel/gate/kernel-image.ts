/**
 * A stock Debian kernel, unpacked and kept: the ELF image that qemu starts without a boot loader,
 * and the few of its modules that the guest needs. The package is downloaded, never installed.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { extractElf } from "./kernel-elf.ts";
import { downloadPackage } from "./packages.ts";
import { runTool } from "./tool.ts";

export type KernelImage = {
  readonly version: string;
  /** The ELF kernel, for qemu's -kernel. */
  readonly path: string;
  /** Holds lib/modules/<version>, indexed by depmod. */
  readonly modulesRoot: string;
};

const UNPACK_TIMEOUT_MS = 60_000;

/**
 * Below lib/modules/<version>/kernel: a 9p root over virtio, an overlay, and the kernel's own
 * CRC32C. The rest, 300 MB, stays packed.
 */
const MODULE_FOLDERS: readonly string[] = [
  ...["arch/x86/crypto", "crypto", "drivers/virtio", "fs/9p", "fs/fscache", "fs/netfs"],
  ...["fs/overlayfs", "lib", "net/9p"],
];

const imageIn = (folder: string, version: string): KernelImage => ({
  version,
  path: join(folder, "vmlinux"),
  modulesRoot: folder,
});

const folderOf = (cache: string, version: string): string => join(cache, `kernel-${version}`);

/** What an earlier run left; null where there is none of this version. */
export function cachedKernel(cache: string, version: string): KernelImage | null {
  const folder = folderOf(cache, version);
  return existsSync(folder) ? imageIn(folder, version) : null;
}

/** Downloads and unpacks. What is kept appears whole, by a rename. */
export function fetchKernel(cache: string, version: string): KernelImage {
  const work = mkdtempSync(join(cache, "fetch-"));
  try {
    downloadPackage(`linux-image-${version}`, work);
    const unpacked = join(work, "unpacked");
    mkdirSync(unpacked);
    unpackPackage(work, unpacked, version);
    const compressed = readFileSync(join(unpacked, "boot", `vmlinuz-${version}`));
    writeFileSync(join(unpacked, "vmlinux"), extractElf(compressed));
    rmSync(join(unpacked, "boot"), { recursive: true });
    runTool("depmod", ["-b", unpacked, version], { timeoutMs: UNPACK_TIMEOUT_MS });

    const folder = folderOf(cache, version);
    rmSync(folder, { recursive: true, force: true });
    renameSync(unpacked, folder);
    return imageIn(folder, version);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Takes out of the package in `work` what the guest needs; releases with /usr/lib included. */
function unpackPackage(work: string, target: string, version: string): void {
  const name = readdirSync(work).find((each) => each.endsWith(".deb"));
  if (name === undefined) throw new Error(`apt-get download left no .deb file in ${work}`);
  const options = { timeoutMs: UNPACK_TIMEOUT_MS };
  const archive = join(work, "files.tar");
  const script = 'dpkg-deb --fsys-tarfile "$0" > "$1"';
  runTool("sh", ["-c", script, join(work, name), archive], options);

  const listed = String(runTool("tar", ["-tf", archive], options)).split("\n");
  const wanted = listed.filter((path) => isWanted(path, version));
  const flags = ["--transform", "s,^\\./usr/lib/,./lib/,", "-T", "-"];
  const input = Buffer.from(wanted.join("\n"));
  runTool("tar", ["-xf", archive, "-C", target, ...flags], { ...options, input });
}

function isWanted(path: string, version: string): boolean {
  if (path === `./boot/vmlinuz-${version}`) return true;
  const root = `/lib/modules/${version}/`;
  const start = path.indexOf(root);
  if (start < 0 || path.endsWith("/")) return false;
  const inside = path.slice(start + root.length);
  if (inside.startsWith("modules.")) return true;
  return MODULE_FOLDERS.some((folder) => inside.startsWith(`kernel/${folder}/`));
}
