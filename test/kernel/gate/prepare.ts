/** Brings together what a run needs; whatever cannot be had skips the test by name. */
import { cachedKernel, fetchKernel, type KernelImage } from "./kernel-image.ts";
import { installPackages, missingPackages, offeredKernel, updatePackageLists } from "./packages.ts";
import type { Progress } from "./progress.ts";
import { SkipGate } from "./skip.ts";
import { hasTool } from "./tool.ts";

/** Installs what is missing, fetches the kernel, and returns it. */
export function prepareMachine(cache: string, progress: Progress): KernelImage {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new SkipGate(`the guest is an x86-64 Linux, and this is ${process.arch}`);
  }
  if (!hasTool("apt-get") || !hasTool("dpkg-deb")) {
    throw new SkipGate("no apt-get: the kernel and its headers come from Debian's packages");
  }
  const offered = offeredKernel();
  const isReady =
    offered !== null &&
    missingPackages(offered).length === 0 &&
    cachedKernel(cache, offered) !== null;
  const version = isReady ? offered : installMissing(progress);
  const kept = cachedKernel(cache, version);
  if (kept !== null) {
    progress.note(`kernel ${version}, kept from an earlier run`);
    return kept;
  }
  progress.note(`fetching and unpacking the stock kernel ${version}`);
  return fetchKernel(cache, version);
}

/** Leaves nothing missing; the version of the kernel that is to be used. */
function installMissing(progress: Progress): string {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    progress.note("apt-get update");
    updatePackageLists();
  }
  const version = offeredKernel();
  if (version === null) {
    throw new SkipGate("apt offers no linux-image-amd64: Debian 12 or newer has it");
  }
  const missing = missingPackages(version);
  if (missing.length === 0) return version;
  const names = missing.join(" ");
  if (!isRoot) throw new SkipGate(`not there, and not root: apt-get install ${names}`);
  progress.note(`apt-get install ${names}`);
  installPackages(missing);
  const left = missingPackages(version);
  if (left.length > 0) throw new SkipGate(`installed, and still not usable: ${left.join(" ")}`);
  return version;
}
