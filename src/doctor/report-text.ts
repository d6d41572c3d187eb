/** The diagnosis as an operator reads it. */
import type { Diagnosed, Diagnosis, MachineSummary } from "./diagnosis.ts";

/** Lines without their ends: the machine, each finding with its mend, and what it comes to. */
export function reportLines(diagnosis: Diagnosis): readonly string[] {
  const { machine, findings } = diagnosis;
  return [
    ...machineLines(machine),
    ...(findings.length === 0 ? [] : [""]),
    ...findings.flatMap(findingLines),
    "",
    closingLine(diagnosis),
  ].map(withoutControls);
}

/** What a file held goes into messages, and must neither break a line nor drive a terminal. */
const withoutControls = (line: string): string => line.replaceAll(/\p{Cc}/gu, "?");

function machineLines(machine: MachineSummary): readonly string[] {
  const { dies, devices, driver, cuda, ptxIsa, slot } = machine;
  const parts = [
    driver === null ? "no driver loaded" : `driver ${driver}`,
    ...(cuda === null ? [] : [`${cuda}, PTX up to ISA ${ptxIsa ?? "?"}`]),
    `slot ${slot}`,
    `IOMMU ${machine.iommu}`,
    ...(machine.lockdown === null ? [] : [`lockdown ${machine.lockdown}`]),
    `Node ${machine.node}`,
  ];
  if (dies.length === 0 && devices.length === 0) {
    return [`no NVIDIA GPU: the software GPU will be used; Node ${machine.node}`];
  }
  return [
    parts.join(", "),
    ...dies.map(
      ({ address, name, driver: bound }) => `  ${address}  ${name}, bound to ${bound ?? "nothing"}`,
    ),
    ...devices.map((name, ordinal) => `  device ${ordinal}: ${name}`),
  ];
}

function findingLines(finding: Diagnosed): readonly string[] {
  const { severity, subject, message, mend, command, id } = finding;
  return [
    `${severity.toUpperCase()} ${id}${subject === null ? "" : ` [${subject}]`}: ${message}`,
    `    mend: ${mend}`,
    ...(command === null ? [] : [`    type: ${command}`]),
  ];
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function closingLine({ counts, machine, verdict }: Diagnosis): string {
  const { problem, warning, note } = counts;
  const all =
    `${plural(problem, "problem")}, ${plural(warning, "warning")}, ` + plural(note, "note");
  switch (verdict) {
    case "well":
      return (
        `nothing wrong ` +
        `(${plural(machine.checks, "check")}${note > 0 ? `, ${plural(note, "note")}` : ""})`
      );
    case "warned":
      return `nothing stands in the way: ${all}`;
    case "in_the_way":
    case "no_device":
      return all;
  }
}
