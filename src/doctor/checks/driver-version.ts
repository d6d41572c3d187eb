import { CUDA_SUCCESS } from "../../gpu-cuda/mod.ts";
import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import { branchOf } from "../facts/driver.ts";
import type { Finding } from "../finding.ts";
import { familyOf } from "./gpu-families.ts";
import { libraryVersion } from "./libcuda.ts";
import { dieText, hindrance, isBoardDie, loadedLibcuda, ourDies } from "./wanted.ts";

/** The first branch whose library has every function that we call (CUDA 11.4). */
const BRANCH_MIN = 470;

/** Whether module and library fit one another, and the dies. */
export const driverVersion: Check = {
  id: "driver-version",
  title: "the driver's release knows these dies; module and library are of one version",
  scope: "gpu",
  findings: ["driver-mismatch", "driver-too-new", "driver-too-old", "driver-open", "die-too-old"],
  run: (facts) => [
    ...mismatch(facts),
    ...beyond(facts),
    ...tooNew(facts),
    ...tooOld(facts),
    ...tooOpen(facts),
  ],
};

function mismatch(facts: Facts): readonly Finding[] {
  const [module, library] = [facts.driver.version, libraryVersion(facts)];
  if (module === null || library === null || module === library) return [];
  // A library of CUDA's forward compatibility is newer by design, and starts.
  const loaded = loadedLibcuda(facts);
  if (loaded?.initCode === CUDA_SUCCESS) return [];
  if (loaded?.initCode === null && loaded.path.includes("/compat/")) return [];
  return [
    {
      id: "driver-mismatch",
      severity: "problem",
      subject: "nvidia",
      message: `the loaded kernel module is ${module}, libcuda is ${library}: both refuse to work`,
      mend: "an update replaced the files under a loaded module: restart the machine, or reload it",
      command: "cat /sys/module/nvidia/version; modinfo -F version nvidia",
    },
  ];
}

/** The module's version; where it is not loaded, that of the library it was installed with. */
const versionOf = (facts: Facts): string | null => facts.driver.version ?? libraryVersion(facts);

/** Whether any driver that has this die has every function that we call. */
const isDrivable = ({ pci }: DieFacts): boolean =>
  (familyOf(pci.device)?.branchMax ?? Infinity) >= BRANCH_MIN;

/** Dies that no driver of ours knows, mostly cards for a display. */
function beyond(facts: Facts): readonly Finding[] {
  const isOther = facts.dies.some(isDrivable);
  return ourDies(facts)
    .filter((die) => !isDrivable(die))
    .map((die) => {
      const family = familyOf(die.pci.device);
      return {
        id: "die-too-old",
        severity: isOther ? "note" : hindrance(facts),
        subject: die.address,
        message:
          `${dieText(die)} cannot be used: ${family?.name ?? ""} ended with driver ` +
          `R${family?.branchMax ?? 0}, and Holdfast needs R${BRANCH_MIN} or newer`,
        mend: isOther ? "nothing to do: the other dies are used" : "use a die of Kepler or newer",
        command: null,
      };
    });
}

/** One driver serves all dies, so that what one die needs is weighed against the others. */
function tooNew(facts: Facts): readonly Finding[] {
  const version = versionOf(facts);
  const branch = branchOf(version);
  if (branch === null) return [];
  const lastOf = ({ pci }: DieFacts): number => familyOf(pci.device)?.branchMax ?? Infinity;
  const known = ourDies(facts).filter((die) => branch <= lastOf(die));
  return ourDies(facts)
    .filter((die) => isDrivable(die) && branch > lastOf(die))
    .map((die) => {
      const last = `R${lastOf(die)}`;
      // A die of the board is what the machine is for.
      const isSpare = known.length > 0 && !isBoardDie(facts, die);
      const names = [...new Set(known.map(({ name }) => name))].join(", ");
      return {
        id: "driver-too-new",
        severity: isSpare ? "note" : "problem",
        subject: die.address,
        message:
          `driver ${version ?? ""} does not know ${dieText(die)}: ` +
          `${familyOf(die.pci.device)?.name ?? ""} ended with ${last}`,
        mend:
          known.length > 0
            ? `one driver serves all dies: it needs ${last}; see that ${last} knows ${names} too` +
              (isSpare ? ", or leave it unused" : "")
            : `remove it and install a driver of ${last}; hold its version against updates`,
        command: known.length > 0 ? null : `apt-get install nvidia-driver-${lastOf(die)}`,
      };
    });
}

/** Whether the driver is the reason that the die is not bound: a finding tells that already. */
export function isUnknownToDriver(facts: Facts, die: DieFacts): boolean {
  const branch = branchOf(versionOf(facts));
  const last = familyOf(die.pci.device)?.branchMax ?? Infinity;
  return last < BRANCH_MIN || (branch !== null && branch > last);
}

function tooOld(facts: Facts): readonly Finding[] {
  const version = versionOf(facts);
  const branch = branchOf(version);
  if (branch === null || branch >= BRANCH_MIN) return [];
  // Dies that no other driver knows either are told of each.
  if (facts.dies.length > 0 && !facts.dies.some(isDrivable)) return [];
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
