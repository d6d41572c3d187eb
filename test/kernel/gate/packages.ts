/** What the kernel test needs from Debian: checked by what it is used for, installed where that
 * is allowed, and otherwise named. */
import { existsSync, readFileSync } from "node:fs";
import { SkipGate } from "./skip.ts";
import { hasTool, runTool, ToolError } from "./tool.ts";

type Need = { readonly packageName: string; readonly isThere: () => boolean };

const INSTALL_TIMEOUT_MS = 90_000;
const QUERY_TIMEOUT_MS = 20_000;

const BUSYBOX = "/bin/busybox";

const tool = (name: string, packageName = name): Need => ({
  packageName,
  isThere: () => hasTool(name),
});

const TOOLS: readonly Need[] = [
  tool("qemu-system-x86_64", "qemu-system-x86"),
  tool("cpio"),
  tool("depmod", "kmod"),
  tool("rmmod", "kmod"),
  tool("xz", "xz-utils"),
  tool("make"),
  tool("cc", "gcc"),
  { packageName: "busybox-static", isThere: isBusyboxStatic },
  { packageName: "libc6-dev", isThere: () => existsSync("/usr/include/stdio.h") },
];

/** A busybox that needs shared libraries cannot be the first program of a guest. */
function isBusyboxStatic(): boolean {
  if (!existsSync(BUSYBOX)) return false;
  return !readFileSync(BUSYBOX).subarray(0, 4096).includes("/ld-linux");
}

/** The folder in which a module for this kernel is built. */
export const headersOf = (kernel: string): string => `/lib/modules/${kernel}/build`;

/** The Debian packages of which something is missing, for a kernel of this version. */
export function missingPackages(kernel: string): string[] {
  const headers: Need = {
    packageName: `linux-headers-${kernel}`,
    isThere: () => existsSync(`${headersOf(kernel)}/Makefile`),
  };
  const missing = [...TOOLS, headers].filter((need) => !need.isThere());
  return [...new Set(missing.map((need) => need.packageName))];
}

/** Version of the stock kernel that the package lists offer, e.g. `6.1.0-57-amd64`; null: none. */
export function offeredKernel(): string | null {
  try {
    const options = { timeoutMs: QUERY_TIMEOUT_MS };
    const text = String(runTool("apt-cache", ["depends", "linux-image-amd64"], options));
    return /Depends: linux-image-(\d\S+)/.exec(text)?.[1] ?? null;
  } catch (error) {
    if (error instanceof ToolError) return null;
    throw error;
  }
}

/** Brings the package lists up to date. Skips the test where they cannot be had. */
export function updatePackageLists(): void {
  apt(["update", "-q"], "the package lists");
}

/** Installs them. Skips the test where they cannot be had. */
export function installPackages(names: readonly string[]): void {
  apt(["install", "-y", "-q", "--no-install-recommends", ...names], names.join(", "));
}

/** Downloads one package's file into a folder, installing nothing. */
export function downloadPackage(name: string, folder: string): void {
  apt(["download", "-q", name], name, folder);
}

function apt(args: readonly string[], what: string, cwd = "/"): void {
  // Another apt may be at work; and the sandbox user cannot write to a folder of ours.
  const flags = ["-o", "DPkg::Lock::Timeout=60", "-o", "APT::Sandbox::User=root"];
  const environment = { DEBIAN_FRONTEND: "noninteractive" };
  try {
    runTool("apt-get", [...flags, ...args], { timeoutMs: INSTALL_TIMEOUT_MS, cwd, environment });
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    throw new SkipGate(`apt-get could not bring ${what}: ${error.message}`);
  }
}
