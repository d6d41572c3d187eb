/** NVIDIA's kernel module: loaded or not, which version, for which kernel. */
import type { MachineFiles } from "../machine-files.ts";

export type DriverFacts = {
  /** `live`, `coming`, `going`; null where it is not loaded. */
  readonly state: string | null;
  /** Of the loaded module, e.g. `470.256.02`. */
  readonly version: string | null;
  /** Whether it is the open flavour, which needs a GSP: Turing and newer. */
  readonly isOpen: boolean;
  readonly isUvmLoaded: boolean;
  readonly isNouveauLoaded: boolean;
  /** Whether a file of the module for the running kernel was found; null: nothing to look in. */
  readonly isBuilt: boolean | null;
  /** Whether nothing loads it by itself: `blacklist nvidia`, or the same on the command line. */
  readonly isBlacklisted: boolean;
};

/** Where distributions and DKMS put the module, below /lib/modules/<release>. */
const MODULE_FOLDERS = [
  ...["updates/dkms", "updates", "extra", "extra/nvidia", "kernel/drivers/video"],
  ...["kernel/nvidia", "video", "kernel/drivers/video/nvidia", "weak-updates/nvidia", "misc"],
  ...["nvidia", "kernel/drivers/char/drm"],
] as const;

export function readDriver(files: MachineFiles, kernelRelease: string | null): DriverFacts {
  const procVersion = files.text("proc/driver/nvidia/version") ?? "";
  const initState = files.text("sys/module/nvidia/initstate");
  return {
    state: initState,
    version: files.text("sys/module/nvidia/version") ?? versionIn(procVersion),
    isOpen: procVersion.includes("Open Kernel Module"),
    isUvmLoaded: files.exists("sys/module/nvidia_uvm"),
    isNouveauLoaded: files.exists("sys/module/nouveau"),
    isBlacklisted: isBlacklisted(files),
    isBuilt: kernelRelease === null ? null : isBuiltFor(files, kernelRelease),
  };
}

/** `NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May …`. */
export const versionIn = (text: string): string | null =>
  /NVRM version:.*?\s(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)\s/.exec(text)?.[1] ?? null;

/** R470 of `470.256.02`; null for what is no version. */
export function branchOf(version: string | null): number | null {
  const major = /^(\d{3,4})\.\d/.exec(version ?? "")?.[1];
  return major === undefined ? null : Number(major);
}

function isBuiltFor(files: MachineFiles, release: string): boolean | null {
  const base = `lib/modules/${release}`;
  if (!files.exists(base)) return null;
  const dependencies = files.bytes(`${base}/modules.dep`, DEPENDENCY_BYTES_MAX)?.toString("latin1");
  if (dependencies !== undefined && IN_DEPENDENCIES.test(dependencies)) return true;
  return MODULE_FOLDERS.some((folder) =>
    files.names(`${base}/${folder}`).some((name) => /^nvidia\.ko(\.(xz|zst|gz))?$/.test(name)),
  );
}

/** Where modprobe reads its configuration, from what wins. */
const CONFIG_FOLDERS = ["etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d"];

/** Configuration files of one folder; a distribution has a dozen. */
const CONFIG_FILES_MAX = 64;

function isBlacklisted(files: MachineFiles): boolean {
  const options = (files.text("proc/cmdline") ?? "").split(/\s+/);
  if (options.some((option) => /^modprobe\.blacklist=(.*,)?nvidia(,|$)/.test(option))) return true;
  return CONFIG_FOLDERS.some((folder) =>
    files
      .names(folder)
      .filter((name) => name.endsWith(".conf"))
      .slice(0, CONFIG_FILES_MAX)
      .some((name) => /^\s*blacklist\s+nvidia\s*$/m.test(files.text(`${folder}/${name}`) ?? "")),
  );
}

/** modules.dep of a distribution's kernel has half a megabyte. */
const DEPENDENCY_BYTES_MAX = 8 * 1024 * 1024;

/** `updates/dkms/nvidia.ko.zst: …`, also `nvidia-current.ko` as Debian names it. */
const IN_DEPENDENCIES = /(^|\/)nvidia(-current)?\.ko(\.\w+)?:/m;
