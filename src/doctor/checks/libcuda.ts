import { CUDA_ERROR_STUB_LIBRARY } from "../../gpu-cuda/mod.ts";
import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { LibraryFile } from "../facts/libcuda-files.ts";
import type { Finding } from "../finding.ts";
import { hindrance, isGpuAsked, loadedLibcuda, ourDies } from "./wanted.ts";

/** Whether the driver's library is there, is a driver's, and can be loaded. */
export const libcuda: Check = {
  id: "libcuda",
  title: "libcuda.so.1 is there, is the driver's own, and loads",
  scope: "gpu",
  findings: [
    ...["libcuda-missing", "libcuda-unversioned", "libcuda-stub", "libcuda-format"],
    ...["libcuda-unloadable", "libcuda-old", "libcuda-hung", "ffi-missing"],
  ],
  run: (facts) => {
    // Where all dies are kept for others, nobody needs the driver.
    if (facts.dies.length > 0 && ourDies(facts).length === 0 && !isGpuAsked(facts)) return [];
    const found = findingOf(facts);
    // A driver that is half there is broken; one that is not there at all may be meant so.
    const severity = facts.driver.state === "live" ? "problem" : hindrance(facts);
    return found === null ? [] : [{ severity, ...found }];
  },
};

type Part = Omit<Finding, "severity">;

const INSTALL = "install the NVIDIA driver's user-space part, of the kernel module's version";

function findingOf(facts: Facts): Part | null {
  const { libcuda: probe, libraries } = facts;
  switch (probe.state) {
    case "hung":
      return hung(probe.afterMs);
    case "failed":
      return failed(probe.code, probe.message);
    case "libcuda":
      break;
    case "bytes":
    case "opened":
    case "slot":
    case "not_asked":
      // Nobody asked, as in a recorded tree: the files alone tell.
      return libraries.some(isUsable) ? null : notLoaded(libraries, null);
  }
  const { report } = probe;
  if (report.state === "not_loaded") return notLoaded(libraries, report.message);
  if (report.state === "incomplete") return incomplete(report.message);
  return report.initCode === CUDA_ERROR_STUB_LIBRARY ? stub(report.path) : null;
}

const isUsable = ({ path, isOurs, isStub }: LibraryFile): boolean =>
  isOurs && !isStub && path.endsWith(".so.1");

function notLoaded(libraries: readonly LibraryFile[], words: string | null): Part {
  const real = libraries.filter(({ isStub }) => !isStub);
  const versioned = real.filter(({ path }) => path.includes(".so.1"));
  const [first] = versioned;
  if (first !== undefined) return unloadable(first, versioned, words);
  const [plain] = real.filter(({ path }) => path.endsWith(".so"));
  if (plain !== undefined) return unversioned(plain.path);
  const stubs = libraries.filter(({ isStub }) => isStub).map(({ path }) => path);
  const only = stubs.length === 0 ? "" : `; ${stubs.join(", ")} is the toolkit's stub, no driver`;
  return {
    id: "libcuda-missing",
    subject: "libcuda.so.1",
    message: `no libcuda.so.1 is in any folder of the loader${only}`,
    mend: `${INSTALL}, then run ldconfig`,
    command: "ldconfig -p | grep libcuda",
  };
}

function unloadable(first: LibraryFile, all: readonly LibraryFile[], words: string | null): Part {
  if (!all.some(({ isOurs }) => isOurs)) {
    const format = first.format ?? "no library";
    return {
      id: "libcuda-format",
      subject: first.path,
      message: `it is ${format}, which this process cannot load`,
      mend: `${INSTALL}, and for this machine's architecture`,
      command: `file -L ${first.path}`,
    };
  }
  const usable = all.find(({ isOurs }) => isOurs) ?? first;
  return {
    id: "libcuda-unloadable",
    subject: usable.path,
    message: `it is there and cannot be loaded${words === null ? "" : `: ${words}`}`,
    mend: "install what the loader misses, which 'ldd' shows as not found; then run ldconfig",
    command: `ldd ${usable.path}`,
  };
}

const unversioned = (path: string): Part => ({
  id: "libcuda-unversioned",
  subject: path,
  message: "there is a libcuda.so and no libcuda.so.1 beside it, which is what programs load",
  mend: "run ldconfig, which makes the link; if it does not, this is no driver's file",
  command: "ldconfig && ldconfig -p | grep libcuda",
});

const stub = (path: string): Part => ({
  id: "libcuda-stub",
  subject: path,
  message: "this libcuda is the toolkit's stub, not a driver: it answers every call with error 34",
  mend: "take the toolkit's stubs folder out of LD_LIBRARY_PATH and ld.so.conf.d, run ldconfig",
  command: "echo $LD_LIBRARY_PATH; grep -r stubs /etc/ld.so.conf.d",
});

const incomplete = (message: string): Part => ({
  id: "libcuda-old",
  subject: "libcuda.so.1",
  message: `it lacks a function that drivers since R470 have: ${message}`,
  mend: "install driver R470 (CUDA 11.4) or newer; R470 is the last one for a K80",
  command: "cat /sys/module/nvidia/version; ldconfig -p | grep libcuda",
});

const hung = (afterMs: number): Part => ({
  id: "libcuda-hung",
  subject: "libcuda.so.1",
  message: `loading and starting it did not come back within ${afterMs / 1000} s`,
  mend: "read the driver's lines in the kernel's log; a driver that hangs needs a restart",
  command: "dmesg | grep -i nvrm | tail -20",
});

function failed(code: string, message: string): Part {
  if (code === "NO_FFI") {
    return {
      id: "ffi-missing",
      subject: "koffi",
      message: `native code cannot be called, so that no GPU can be used: ${message}`,
      mend: "install Holdfast's dependencies for this platform again",
      command: "npm ci --omit=dev",
    };
  }
  return {
    id: "libcuda-unloadable",
    subject: "libcuda.so.1",
    message: `loading and starting it ended the process: ${message}`,
    mend: "install the driver's user-space part again, of the kernel module's version",
    command: "cat /sys/module/nvidia/version; ldconfig -p | grep libcuda",
  };
}

/** The version of the library that would be loaded, from its file's name. */
export function libraryVersion(facts: Facts): string | null {
  const loaded = loadedLibcuda(facts)?.path ?? "";
  const version = /libcuda\.so\.(\d{3,4}\.\d+(?:\.\d+)?)$/.exec(loaded)?.[1];
  return version ?? facts.libraries.find(isUsable)?.version ?? null;
}
