/** The guest's first root: busybox, the modules that bring up the real one, and guest/init. */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KernelImage } from "./kernel-image.ts";
import { runTool, ToolError } from "./tool.ts";

const TIMEOUT_MS = 20_000;

const BUSYBOX_NAMES: readonly string[] = [
  ...["cat", "chroot", "echo", "mkdir", "modprobe", "mount", "poweroff", "sh"],
];

/** Loaded by guest/init in this order. */
const MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"] as const;

/** What test/kernel/module uses of the kernel, in this order; built in since Linux 6.14. */
const MODULES_WHERE_SEPARATE = ["crc32c_generic", "libcrc32c"] as const;

/** Writes the archive. */
export function buildInitramfs(kernel: KernelImage, init: string, target: string): void {
  const root = mkdtempSync(`${target}.root-`);
  try {
    for (const folder of ["bin", "dev", "proc", "sys"]) mkdirSync(join(root, folder));
    copyFileSync("/bin/busybox", join(root, "bin", "busybox"));
    for (const name of BUSYBOX_NAMES) symlinkSync("busybox", join(root, "bin", name));
    copyFileSync(init, join(root, "init"));
    chmodSync(join(root, "init"), 0o755);
    const names = copyModules(kernel, root);
    writeFileSync(join(root, "modules"), names.map((name) => `${name}\n`).join(""));
    const script = 'find . | cpio -o -H newc --quiet --owner +0:+0 > "$0"';
    runTool("sh", ["-c", script, target], { cwd: root, timeoutMs: TIMEOUT_MS });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** The names of those that are there, for the guest to load. */
function copyModules(kernel: KernelImage, root: string): string[] {
  const wanted = [...MODULES, ...MODULES_WHERE_SEPARATE];
  const loaded = wanted.filter((name) => {
    const files = filesOf(kernel, name);
    for (const file of files) {
      const target = join(root, file.slice(kernel.modulesRoot.length));
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(file, target);
    }
    return files.length > 0;
  });
  const folder = join("lib", "modules", kernel.version);
  mkdirSync(join(root, folder), { recursive: true });
  for (const name of ["modules.builtin", "modules.builtin.modinfo", "modules.order"]) {
    copyFileSync(join(kernel.modulesRoot, folder, name), join(root, folder, name));
  }
  runTool("depmod", ["-b", root, kernel.version], { timeoutMs: TIMEOUT_MS });
  return loaded;
}

/** A module and all that it depends on; none where it is built into the kernel or unknown. */
function filesOf(kernel: KernelImage, name: string): string[] {
  const flags = ["-d", kernel.modulesRoot, "-S", kernel.version, "--show-depends", name];
  try {
    const text = String(runTool("modprobe", flags, { timeoutMs: TIMEOUT_MS }));
    return [...text.matchAll(/^insmod (\S+)/gm)].map(([, file = ""]) => file);
  } catch (error) {
    if (error instanceof ToolError) return [];
    throw error;
  }
}
