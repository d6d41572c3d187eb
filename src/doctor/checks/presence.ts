import { parseConfig } from "../../board/mod.ts";
import type { Check } from "../check.ts";
import type { DieFacts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { dieText } from "./wanted.ts";

/** Whether each die answers on the bus: sysfs shows one that fell off as if nothing were. */
export const presence: Check = {
  id: "presence",
  title: "each die answers on the bus",
  scope: "gpu",
  findings: ["die-off-bus", "die-silent", "die-asleep"],
  run: ({ dies }) => dies.flatMap((die) => findingOf(die) ?? []),
};

function findingOf(die: DieFacts): Finding | null {
  const { config, power } = die;
  if (power.isAsleep) return asleep(die);
  if (config.state === "hung") return silent(die, config.afterMs);
  if (config.state !== "bytes") return null;
  if (parseConfig(Buffer.from(config.hex, "hex")) !== "off_bus") return null;
  return {
    id: "die-off-bus",
    severity: "problem",
    subject: die.address,
    message: `${dieText(die)} fell off the bus: its configuration space reads all ones`,
    mend: "power the machine off and on; if it comes back, check power, cooling and the riser",
    command: `setpci -s ${die.address} 0.l`,
  };
}

const asleep = (die: DieFacts): Finding => ({
  id: "die-asleep",
  severity: "note",
  subject: die.address,
  message:
    `${dieText(die)} is asleep (${die.power.state ?? "suspended"}): neither it nor the driver's ` +
    "start was tried, since that would wake it",
  mend: "nothing to do: who uses it wakes it; to have it looked at, run this while it is in use",
  command: null,
});

const silent = (die: DieFacts, afterMs: number): Finding => ({
  id: "die-silent",
  severity: "problem",
  subject: die.address,
  message: `the configuration space of ${dieText(die)} did not answer within ${afterMs / 1000} s`,
  mend: "the bus itself hangs: power the machine off, and check the board by itself",
  command: `timeout 10 lspci -s ${die.address} -nn`,
});
