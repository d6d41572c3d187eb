import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { dieText, isBoardDie, PLACEHOLDERS, probedText } from "./wanted.ts";

/** By which Holdfast blocks a die while it loads the driver for another one. */
const OURS = "holdfast-blocked";

/** What earlier programs have left in driver_override. */
export const override: Check = {
  id: "override",
  title: "no driver_override is left over that keeps nvidia from a die",
  scope: "gpu",
  findings: ["override-ours", "override-foreign", "override-hung"],
  run: (facts) => facts.dies.flatMap((die) => findingsOf(facts, die)),
};

function findingsOf(facts: Facts, die: DieFacts): readonly Finding[] {
  if (die.override.state === "hung") return [hung(die, die.override.afterMs)];
  const value = probedText(die.override);
  if (value === null || value === "(null)" || value === "" || value === "nvidia") return [];
  if (value === OURS) return ours(facts, die);
  if (PLACEHOLDERS.has(value)) return die.pci.driver === value ? [] : [kept(facts, die, value)];
  return [
    {
      id: "override-foreign",
      severity: "problem",
      subject: die.address,
      message: `driver_override of ${dieText(die)} is '${value}': no other driver may have it`,
      mend: "somebody else set it; once they need it no more, clear it",
      command: clear(die),
    },
  ];
}

/** To be given to a guest, or taken back from one: whoever manages guests does that. */
const kept = (facts: Facts, die: DieFacts, value: string): Finding => ({
  id: "override-foreign",
  severity: isBoardDie(facts, die) ? "problem" : "note",
  subject: die.address,
  message: `driver_override of ${dieText(die)} is '${value}': it is kept for guests`,
  mend: isBoardDie(facts, die)
    ? "have the manager of the guests give the die back to the host"
    : "nothing to do: Holdfast leaves it alone",
  command: null,
});

const clear = ({ address }: DieFacts): string =>
  `echo > /sys/bus/pci/devices/${address}/driver_override`;

/** While an owner is at work, dies that are yet to come are blocked. */
function ours(facts: Facts, die: DieFacts): readonly Finding[] {
  const isOwned = facts.processes.holders.some(({ paths }) => paths.includes("/dev/bar_swap"));
  if (facts.slotKind === "bar_swap" && isOwned) return [];
  const isWindowed = facts.slotKind === "bar_swap";
  return [
    {
      id: "override-ours",
      severity: isWindowed ? "note" : "problem",
      subject: die.address,
      message: `${dieText(die)} is still blocked by an owner of ours that is gone (${OURS})`,
      mend: isWindowed
        ? "the next bring-up takes it over; to give the die to others, clear it"
        : "clear it, and have the die probed again",
      command: clear(die),
    },
  ];
}

const hung = (die: DieFacts, afterMs: number): Finding => ({
  id: "override-hung",
  severity: "problem",
  subject: die.address,
  message:
    `reading driver_override of ${dieText(die)} did not come back within ${afterMs / 1000} s: ` +
    "a driver holds the device's lock, in a bind or unbind that hangs",
  mend: "find the process that waits in the kernel; only a restart frees the device",
  command: "ps -eo pid,stat,wchan:32,args | awk '$2 ~ /D/'",
});
