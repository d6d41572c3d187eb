import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { isUnknownToDriver } from "./driver-version.ts";
import {
  dieText,
  isBoardDie,
  isGivenAway,
  isGpuAsked,
  PLACEHOLDERS,
  probedText,
} from "./wanted.ts";

/** Whether each die has the driver that it needs. */
export const dieDriver: Check = {
  id: "die-driver",
  title: "each die is bound to nvidia, not to nouveau, vfio-pci or nothing",
  scope: "gpu",
  findings: ["die-nouveau", "die-held", "die-foreign", "die-unbound"],
  run: (facts) => facts.dies.flatMap((die) => findingsOf(facts, die)),
};

const deviceFolder = (address: string): string => `/sys/bus/pci/devices/${address}`;

function findingsOf(facts: Facts, die: DieFacts): readonly Finding[] {
  const { driver } = die.pci;
  if (driver === "nvidia") return [];
  if (driver === null) return unbound(facts, die);
  // To take it from nouveau gains nothing where nvidia does not know it.
  if (driver === "nouveau") return isSpareDisplay(facts, die) ? [] : [nouveau(die)];
  if (PLACEHOLDERS.has(driver)) return [held(facts, die, driver)];
  return [
    {
      id: "die-foreign",
      severity: "problem",
      subject: die.address,
      message: `${dieText(die)} is bound to ${driver}, not to nvidia`,
      mend: `take it from ${driver}, clear its driver_override, and have it probed again`,
      command: [
        `echo ${die.address} > ${deviceFolder(die.address)}/driver/unbind`,
        `echo > ${deviceFolder(die.address)}/driver_override`,
        `echo ${die.address} > /sys/bus/pci/drivers_probe`,
      ].join("; "),
    },
  ];
}

/** A die that the driver does not know beside one that it has. */
const isSpareDisplay = (facts: Facts, die: DieFacts): boolean =>
  isUnknownToDriver(facts, die) && facts.dies.some((each) => !isUnknownToDriver(facts, each));

/** Somebody gave it away on purpose, and a guest may be at work on it: no line is given to type. */
function held(facts: Facts, die: DieFacts, driver: string): Finding {
  const holder = facts.processes.holders.find(({ paths }) =>
    paths.some((path) => die.vfioPaths.includes(path)),
  );
  const isNeeded = isBoardDie(facts, die) || (isGpuAsked(facts) && facts.dies.every(isGivenAway));
  return {
    id: "die-held",
    severity: isNeeded ? "problem" : "note",
    subject: die.address,
    message:
      `${dieText(die)} is bound to ${driver}, which keeps it for guests` +
      (holder === undefined ? "" : `; ${holder.command} (pid ${holder.pid}) has it open`),
    mend: isNeeded
      ? "end the guest that has it, and have its manager give the die back to the host"
      : "nothing to do: Holdfast leaves it alone",
    command: null,
  };
}

const nouveau = (die: DieFacts): Finding => ({
  id: "die-nouveau",
  severity: "problem",
  subject: die.address,
  message: `${dieText(die)} is bound to nouveau, so that nvidia cannot have it`,
  mend: "keep nouveau from loading, rebuild the initial RAM disk, restart the machine",
  command:
    "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/no-nouveau.conf" +
    "; update-initramfs -u",
});

/** Behind a window a die without driver waits for its rung; so does one that is blocked. */
function unbound(facts: Facts, die: DieFacts): readonly Finding[] {
  if (facts.slotKind === "bar_swap" || facts.driver.state !== "live") return [];
  const override = probedText(die.override);
  const isOverridden = override !== null && override !== "(null)" && override !== "";
  if (isOverridden && override !== "nvidia") return [];
  if (isSpareDisplay(facts, die)) return [];
  return [
    {
      id: "die-unbound",
      severity: "problem",
      subject: die.address,
      message:
        `nvidia is loaded, and ${dieText(die)} is not bound to it: its probe failed, ` +
        `or came not`,
      mend: "have it probed again, and read what the driver says of it in the kernel's log",
      command: `echo ${die.address} > /sys/bus/pci/drivers/nvidia/bind; dmesg | tail -20`,
    },
  ];
}
