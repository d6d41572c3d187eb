/** Builds what is written in C: the mailbox module, and the guest's program. */
import { copyFileSync, cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { headersOf } from "./packages.ts";
import { runTool } from "./tool.ts";

const BUILD_TIMEOUT_MS = 60_000;

/** Name of the module, its file without `.ko`. */
export const MODULE_NAME = "hf_mailbox";

const PROGRAM_FLAGS = ["-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"];

/** Builds in `work`, not in the source folder; the module lands in `target`. */
export function buildModule(root: string, kernel: string, work: string, target: string): void {
  const folder = join(work, "module");
  cpSync(join(root, "test", "kernel", "module"), folder, { recursive: true });
  cpSync(join(root, "include"), join(folder, "include"), { recursive: true });
  // modules_install is not wanted, and no warning is either.
  const args = ["-s", "-C", headersOf(kernel), `M=${folder}`, "modules"];
  runTool("make", args, { timeoutMs: BUILD_TIMEOUT_MS, cwd: folder });
  copyFileSync(join(folder, `${MODULE_NAME}.ko`), join(target, `${MODULE_NAME}.ko`));
}

/** Builds examples/guest-v1 into `target`. */
export function buildGuestProgram(root: string, target: string): void {
  mkdirSync(target, { recursive: true });
  const folder = join(root, "examples", "guest-v1");
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith(".c"))
    .map((name) => join(folder, name));
  const args = [...PROGRAM_FLAGS, "-I", join(root, "include"), ...sources];
  runTool("cc", [...args, "-o", join(target, "guest-v1")], { timeoutMs: BUILD_TIMEOUT_MS });
}
