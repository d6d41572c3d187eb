/** Builds what is written in C: the kernel modules, and the guest's programs. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headersOf } from "./packages.ts";
import { runTool } from "./tool.ts";

const BUILD_TIMEOUT_MS = 60_000;

/** Compilers at once; the files are few and small. */
const JOBS = 2;

/** Folders under test/kernel that hold modules, and the modules that come of each. */
const MODULES = { module: ["hf_mailbox"], "board-module": ["hf_board", "nvidia"] } as const;

const PROGRAM_FLAGS = ["-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"];

/** Builds in `work`, not in the source folders; the modules land in `target`. */
export function buildModules(root: string, kernel: string, work: string, target: string): void {
  const folder = join(work, "modules");
  const names = Object.keys(MODULES);
  for (const name of names) {
    cpSync(join(root, "test", "kernel", name), join(folder, name), { recursive: true });
    cpSync(join(root, "include"), join(folder, name, "include"), { recursive: true });
  }
  writeFileSync(join(folder, "Kbuild"), `obj-m := ${names.map((name) => `${name}/`).join(" ")}\n`);
  // modules_install is not wanted, and no warning is either.
  const args = ["-s", `-j${JOBS}`, "-C", headersOf(kernel), `M=${folder}`, "modules"];
  runTool("make", args, { timeoutMs: BUILD_TIMEOUT_MS, cwd: folder });
  for (const [name, modules] of Object.entries(MODULES)) {
    for (const module of modules) {
      copyFileSync(join(folder, name, `${module}.ko`), join(target, `${module}.ko`));
    }
  }
}

/** Builds examples/guest-v1 into `target`. */
export function buildGuestProgram(root: string, target: string): void {
  mkdirSync(target, { recursive: true });
  const folder = join(root, "examples", "guest-v1");
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith(".c"))
    .map((name) => join(folder, name));
  compile(root, sources, join(target, "guest-v1"));
}

/** Builds the program that checks /dev/bar_swap call by call into `target`. */
export function buildSlotCheck(root: string, target: string): void {
  mkdirSync(target, { recursive: true });
  const source = join(root, "test", "kernel", "guest", "slot-check.c");
  compile(root, [source], join(target, "slot-check"));
}

function compile(root: string, sources: readonly string[], program: string): void {
  const args = [...PROGRAM_FLAGS, "-I", join(root, "include"), ...sources, "-o", program];
  runTool("cc", args, { timeoutMs: BUILD_TIMEOUT_MS });
}
