/** Runs the checks over the facts. */
import { gpuName } from "../board/mod.ts";
import { CHECKS } from "./check-table.ts";
import { NO_GPU } from "./checks/gpu-present.ts";
import { cudaText, newestPtxIsa } from "./checks/ptx.ts";
import { isGpuWanted, loadedLibcuda } from "./checks/wanted.ts";
import type { Facts } from "./facts.ts";
import { SEVERITIES, type Finding, type Severity } from "./finding.ts";

/** A finding, and the check that made it. */
export type Diagnosed = Finding & { readonly check: string };

export type Diagnosis = {
  /** `well`: nothing, or notes alone. `no_device`: a GPU was asked for, and there is none. */
  readonly verdict: "well" | "warned" | "in_the_way" | "no_device";
  readonly counts: Readonly<Record<Severity, number>>;
  /** The gravest first, and else in the order of the checks. */
  readonly findings: readonly Diagnosed[];
  readonly machine: MachineSummary;
};

/** What the machine has, in short. */
export type MachineSummary = {
  readonly slot: string;
  readonly dies: readonly {
    readonly address: string;
    readonly name: string;
    readonly driver: string | null;
  }[];
  /** Of the kernel module; null where it is not loaded. */
  readonly driver: string | null;
  /** E.g. `CUDA 11.4`; null where no driver's library answers. */
  readonly cuda: string | null;
  /** The newest PTX ISA that the driver takes. */
  readonly ptxIsa: string | null;
  /** Names of devices by the driver's ordinals. */
  readonly devices: readonly string[];
  readonly iommu: "on" | "off";
  readonly lockdown: string | null;
  readonly node: string;
  readonly checks: number;
};

export function diagnose(facts: Facts): Diagnosis {
  const ran = CHECKS.filter(({ scope }) => isInScope(facts, scope));
  const findings = ran.flatMap(({ id, run }) =>
    run(facts).map((finding) => ({ check: id, ...finding })),
  );
  const graveFirst = SEVERITIES.flatMap((severity) =>
    findings.filter((finding) => finding.severity === severity),
  );
  const count = (severity: Severity): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const counts = { problem: count("problem"), warning: count("warning"), note: count("note") };
  return {
    verdict: verdictOf(findings, counts),
    counts,
    findings: graveFirst,
    machine: summaryOf(facts, ran.length),
  };
}

function isInScope(facts: Facts, scope: (typeof CHECKS)[number]["scope"]): boolean {
  switch (scope) {
    case "machine":
      return true;
    case "gpu":
      return isGpuWanted(facts);
    case "slot":
      return facts.slotKind === "bar_swap" && facts.asked.backend !== "soft";
  }
}

function verdictOf(
  findings: readonly Finding[],
  { problem, warning }: Diagnosis["counts"],
): Diagnosis["verdict"] {
  if (findings.some(({ id }) => id === NO_GPU)) return "no_device";
  if (problem > 0) return "in_the_way";
  return warning > 0 ? "warned" : "well";
}

function summaryOf(facts: Facts, checks: number): MachineSummary {
  const report = loadedLibcuda(facts);
  const version = report?.cudaVersion ?? null;
  return {
    slot: facts.slotKind,
    dies: facts.dies.map(({ pci }) => ({
      address: pci.name,
      name: gpuName(pci),
      driver: pci.driver,
    })),
    driver: facts.driver.version,
    cuda: version === null || version === 0 ? null : cudaText(version),
    ptxIsa: version === null ? null : newestPtxIsa(version),
    devices: report?.devices.map(({ name }) => name) ?? [],
    iommu: facts.iommu.groupCount > 0 ? "on" : "off",
    lockdown: facts.security.lockdown,
    node: facts.runtime.nodeVersion,
    checks,
  };
}
