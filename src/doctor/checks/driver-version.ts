import { CUDA_SUCCESS } from "../../gpu-cuda/mod.ts";
import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import { branchOf } from "../facts/driver.ts";
import type { Finding } from "../finding.ts";
import { familyOf } from "./gpu-families.ts";
import { libraryVersion } from "./libcuda.ts";
import { dieText, loadedLibcuda } from "./wanted.ts";

/** The first branch whose library has every function that we call (CUDA 11.4). */
const BRANCH_MIN = 470;

/** Whether module and library fit one another, and the dies. */
export const driverVersion: Check = {
  id: "driver-version",
  title: "the driver's release knows these dies; module and library are of one version",
  scope: "gpu",
  findings: ["driver-mismatch", "driver-too-new", "driver-too-old", "driver-open"],
  run: (facts) => [...mismatch(facts), ...tooNew(facts), ...tooOld(facts), ...tooOpen(facts)],
};

function mismatch(facts: Facts): readonly Finding[] {
  const [module, library] = [facts.driver.version, libraryVersion(facts)];
  if (module === null || library === null || module === library) return [];
  // A library of CUDA's forward compatibility is newer by design, and starts.
  if (loadedLibcuda(facts)?.initCode === CUDA_SUCCESS) return [];
  return [
    {
      id: "driver-mismatch",
      severity: "problem",
      subject: "nvidia",
      message:
        `the loaded kernel module is ${module}, libcuda is ${library}: they refuse ` + `each other`,
      mend: "an update replaced the files under a loaded module: restart the machine, or reload it",
      command: "cat /sys/module/nvidia/version; modinfo -F version nvidia",
    },
  ];
}

/** The module's version; where it is not loaded, that of the library it was installed with. */
const versionOf = (facts: Facts): string | null => facts.driver.version ?? libraryVersion(facts);

function tooNew(facts: Facts): readonly Finding[] {
  const version = versionOf(facts);
  const branch = branchOf(version);
  if (branch === null) return [];
  return facts.dies.flatMap((die) => {
    const family = familyOf(die.pci.device);
    if (family === null || branch <= family.branchMax) return [];
    const last = `R${family.branchMax}`;
    return [
      {
        id: "driver-too-new",
        severity: "problem" as const,
        subject: die.address,
        message:
          `driver ${version ?? ""} does not know ${dieText(die)}: ${family.name} ended ` +
          `with ${last}`,
        mend: `remove it and install a driver of ${last}; hold its version against updates`,
        command: `apt-get install nvidia-driver-${family.branchMax}`,
      },
    ];
  });
}

function tooOld(facts: Facts): readonly Finding[] {
  const version = versionOf(facts);
  const branch = branchOf(version);
  if (branch === null || branch >= BRANCH_MIN) return [];
  return [
    {
      id: "driver-too-old",
      severity: "problem",
      subject: "nvidia",
      message:
        `driver ${version ?? ""} is older than R${BRANCH_MIN}, the oldest that ` +
        `Holdfast drives`,
      mend: `install R${BRANCH_MIN} (for a K80), or newer where every die is of a later family`,
      command: null,
    },
  ];
}

/** The open module drives what has a GSP: Turing and newer. */
function tooOpen(facts: Facts): readonly Finding[] {
  if (!facts.driver.isOpen) return [];
  return facts.dies.flatMap((die) => {
    const family = familyOf(die.pci.device);
    const branch = branchOf(facts.driver.version) ?? 0;
    if (family === null || branch > family.branchMax) return [];
    return [
      {
        id: "driver-open",
        severity: "problem" as const,
        subject: die.address,
        message:
          `the open kernel module is loaded, which does not drive ${dieText(die)} ` +
          `(${family.name})`,
        mend: "install the proprietary flavour of the same driver's kernel module",
        command: null,
      },
    ];
  });
}
