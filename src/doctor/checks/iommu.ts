import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { counted, dieText } from "./wanted.ts";

/** `DMAR: [DMA Read NO_PASID] Request device [05:00.0] fault addr …`, `AMD-Vi: Event logged …`. */
const FAULT =
  /\b(?:DMAR|AMD-Vi)\b.*?(?:device[ =]\[?)([0-9a-f]{4}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/i;

/** Whether the IOMMU turns a die's reads and writes away. That it is on is no fault. */
export const iommu: Check = {
  id: "iommu",
  title: "the IOMMU lets each die reach memory",
  scope: "gpu",
  findings: ["iommu-fault"],
  run: (facts) => facts.dies.flatMap((die) => findingOf(facts, die) ?? []),
};

function findingOf(facts: Facts, die: DieFacts): Finding | null {
  const {
    log,
    functions,
    iommu: { groupCount },
  } = facts;
  const faults = log.lines.filter(({ text }) => {
    const [, domain, place] = FAULT.exec(text) ?? [];
    if (place === undefined) return false;
    return die.address.endsWith(`${domain ?? ":"}${place}`.toLowerCase());
  });
  if (faults.length === 0) return null;
  // Intel's lines name no domain: where several functions have that place, it may be any of them.
  const place = die.address.slice(die.address.indexOf(":"));
  const others = functions.filter((name) => name !== die.address && name.endsWith(place));
  const doubt =
    others.length === 0 ? "" : `, or of ${others.join(", ")}: the log may not say which`;
  const group = die.iommuGroup === null ? "" : ` (group ${die.iommuGroup} of ${groupCount})`;
  return {
    id: "iommu-fault",
    severity: "warning",
    subject: die.address,
    message:
      `the IOMMU turned away ${counted(faults.length, "access")} of ` +
      `${dieText(die)}${group}${doubt}`,
    mend: "have it pass the host's own devices through: iommu=pt on the kernel's command line",
    command: "dmesg | grep -E 'DMAR|AMD-Vi'",
  };
}
