import { isSamePciAddress } from "../../board/mod.ts";
import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { boundDies, isCounted, startedLibcuda } from "./wanted.ts";

/** What the environment does to the driver's list of devices. */
export const visibleDevices: Check = {
  id: "visible-devices",
  title: "CUDA_VISIBLE_DEVICES hides no die; ordinals follow the bus",
  scope: "gpu",
  findings: ["devices-hidden", "ordinals-mixed"],
  run: (facts) => [...hidden(facts), ...mixed(facts)],
};

function hidden(facts: Facts): readonly Finding[] {
  const value = facts.environment["CUDA_VISIBLE_DEVICES"];
  const report = startedLibcuda(facts);
  if (value === undefined || report === null) return [];
  const dies = boundDies(facts);
  const lost = dies.filter((die) => !isCounted(facts, die)).map(({ address }) => address);
  const shown = report.devices.length;
  if (lost.length === 0 && shown > 0) return [];
  return [
    {
      id: "devices-hidden",
      severity: shown === 0 ? "problem" : "note",
      subject: "CUDA_VISIBLE_DEVICES",
      message:
        `it is '${value}', so that the driver counts ${shown} of ${dies.length} dies; ` +
        `hidden: ${lost.join(", ") || "all"}`,
      mend: "unset it, or name every die that Holdfast is to hold",
      command: "unset CUDA_VISIBLE_DEVICES",
    },
  ];
}

/** We match dies by address; people who type ordinals elsewhere do not. */
function mixed(facts: Facts): readonly Finding[] {
  const devices = startedLibcuda(facts)?.devices ?? [];
  const order = devices.flatMap(({ pciAddress }) => {
    const at = facts.dies.findIndex(({ address }) => isSamePciAddress(address, pciAddress));
    return at < 0 ? [] : [at];
  });
  const isInOrder = order.every((at, index) => index === 0 || at > (order[index - 1] ?? -1));
  if (isInOrder) return [];
  const list = devices.map(({ ordinal, pciAddress }) => `${ordinal} = ${pciAddress}`).join(", ");
  return [
    {
      id: "ordinals-mixed",
      severity: "note",
      subject: "CUDA_DEVICE_ORDER",
      message: `the driver numbers its devices in another order than the bus: ${list}`,
      mend: "Holdfast goes by address; for other programs set CUDA_DEVICE_ORDER=PCI_BUS_ID",
      command: "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
    },
  ];
}
