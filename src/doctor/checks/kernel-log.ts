import {
  formatPciAddress,
  isSamePciAddress,
  mendOf,
  parsePciAddress,
  XidScanner,
  xidOf,
  type XidSighting,
} from "../../board/mod.ts";
import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import type { LogLine } from "../facts/kernel-log-facts.ts";
import type { Finding } from "../finding.ts";
import { counted, isCounted, startedLibcuda } from "./wanted.ts";

/** From so many Xids on a die is in trouble, whatever they say. */
const STORM_COUNT = 100;

/** Corrected errors of a link: a handful in a year of uptime is nothing. */
const CORRECTED_COUNT = 10;

/** What the kernel's log, as far back as it goes, says of the dies. */
export const kernelLog: Check = {
  id: "kernel-log",
  title: "the kernel's log has no Xid, AER or start-up errors of a die",
  scope: "gpu",
  findings: [
    ...["log-xid", "log-application-xid", "log-xid-storm", "log-off-bus", "log-init-failed"],
    ...["log-power", "log-aer", "log-aer-corrected", "log-hung-task"],
  ],
  run: (facts) => {
    const sightings = sightingsIn(facts.log.lines);
    return [
      ...xids(sightings),
      ...offBus(sightings),
      ...initFailed(facts, sightings),
      ...power(facts.log.lines),
      ...facts.dies.flatMap((die) => aer(facts, die)),
      ...hungTasks(facts.log.lines),
    ];
  },
};

type Seen = XidSighting & { readonly seconds: number | null };

function sightingsIn(lines: readonly LogLine[]): readonly Seen[] {
  const scanner = new XidScanner();
  return lines.flatMap(({ text, seconds }) =>
    scanner.push(text).map((sighting) => ({ ...sighting, seconds })),
  );
}

const dieOf = ({ address, uuid }: XidSighting): string => {
  const place = address === null ? null : parsePciAddress(address);
  return place === null ? (uuid ?? "a die that is not named") : formatPciAddress(place);
};

/** `, last 3 h after the start`; nothing where the log has no times. */
function lastText(seen: readonly Seen[]): string {
  const seconds = seen.at(-1)?.seconds ?? null;
  return seconds === null ? "" : `, last ${Math.round(seconds)} s after the machine's start`;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function xids(sightings: readonly Seen[]): readonly Finding[] {
  const found = sightings.filter(({ kind }) => kind === "xid");
  return [...groupBy(found, dieOf)].flatMap(([die, ofDie]) => [
    ...[...groupBy(ofDie, ({ xid }) => String(xid))].flatMap(
      ([number, same]) => xidFinding(die, Number(number), same) ?? [],
    ),
    ...(ofDie.length < STORM_COUNT ? [] : [storm(die, ofDie)]),
  ]);
}

function xidFinding(die: string, number: number, same: readonly Seen[]): Finding | null {
  // What a later line says holds.
  const xid = xidOf(number, same.at(-1)?.text);
  if (xid.class === "notice") return null;
  const isApplication = xid.class === "application";
  return {
    id: isApplication ? "log-application-xid" : "log-xid",
    severity: isApplication ? "note" : "warning",
    subject: die,
    message:
      `Xid ${number} (${xid.meaning}), ${counted(same.length, "time")}${lastText(same)}` +
      (isApplication ? ": a program's context is gone; the die is asked what it is like" : ""),
    mend: mendOf(xid),
    command: `dmesg | grep 'Xid.*: ${number},'`,
  };
}

const storm = (die: string, ofDie: readonly Seen[]): Finding => ({
  id: "log-xid-storm",
  severity: "warning",
  subject: die,
  message: `${ofDie.length} Xids in the kernel's log${lastText(ofDie)}`,
  mend: "find the first of them, which the others follow from; take the die out of use until then",
  command: "dmesg | grep Xid | head",
});

function offBus(sightings: readonly Seen[]): readonly Finding[] {
  const found = sightings.filter(({ kind }) => kind === "off_bus");
  return [...groupBy(found, dieOf)].map(([die, seen]) => ({
    id: "log-off-bus",
    severity: "warning",
    subject: die,
    message:
      `the driver found it fallen off the bus, ` +
      `${counted(seen.length, "time")}${lastText(seen)}`,
    mend:
      "check power, cooling and seating; a die that comes back only after a power cycle " +
      "is lost till then",
    command: "dmesg | grep -i 'fallen off the bus'",
  }));
}

/**
 * Of a die that the driver counts now, it is a story of the past. Where nobody started the driver,
 * as behind a window, it may be one.
 */
function initFailed(facts: Facts, sightings: readonly Seen[]): readonly Finding[] {
  const found = sightings.filter(({ kind }) => kind === "init_failed");
  return [...groupBy(found, dieOf)].map(([die, seen]) => {
    const known = facts.dies.find(({ address }) => isSamePciAddress(address, die));
    const isWell = known !== undefined && isCounted(facts, known);
    return {
      id: "log-init-failed",
      severity: isWell ? "note" : startedLibcuda(facts) === null ? "warning" : "problem",
      subject: die,
      message:
        `the driver failed to start it, ${counted(seen.length, "time")}${lastText(seen)}` +
        (isWell ? "; by now it counts the die" : `: ${seen.at(-1)?.text ?? ""}`),
      mend:
        "read the lines around it: BARs without addresses, power cables, a release that " +
        "does not know the die",
      command: "dmesg | grep -i nvrm | tail -20",
    };
  });
}

const POWER = /GPU (?:at )?(?:PCI:)?([0-9a-f:.]+)?.*does not have the necessary power cables/is;

function power(lines: readonly LogLine[]): readonly Finding[] {
  const found = lines.flatMap(({ text }) => {
    const match = POWER.exec(text);
    return match === null ? [] : [match[1]?.replace(/:$/, "") ?? "a die"];
  });
  return [...new Set(found)].map((die) => ({
    id: "log-power",
    severity: "problem",
    subject: die,
    message: "the driver says that the board's power cables are not all connected",
    mend: "connect the 8-pin EPS cable; a K80 takes a CPU-type plug, not the PCIe type",
    command: "dmesg | grep -i 'power cables'",
  }));
}

/** Errors that the root port tells of: of the die, or of a bridge on its way. */
function aer(facts: Facts, die: DieFacts): readonly Finding[] {
  const places = [die.address, ...die.bridges];
  const lines = facts.log.lines.filter(
    ({ text }) =>
      /AER:|PCIe Bus Error/.test(text) && places.some((address) => text.includes(address)),
  );
  const corrected = lines.filter(
    ({ text }) => /Corrected|Correctable/i.test(text) && !isGrave(text),
  );
  const grave = lines.filter(({ text }) => isGrave(text));
  const [correctedCount, graveCount] = [errorCount(corrected), errorCount(grave)];
  const findings: Finding[] = [];
  if (graveCount > 0) {
    findings.push({
      id: "log-aer",
      severity: "warning",
      subject: die.address,
      message:
        `${counted(graveCount, "uncorrected PCIe error")} on the way to it: ` +
        (grave.at(-1)?.text ?? "").slice(0, 200),
      mend: "seat the board again, change the riser or slot; a die may fall off the bus next",
      command: "dmesg | grep -E 'AER|PCIe Bus Error'",
    });
  }
  if (correctedCount >= CORRECTED_COUNT) {
    findings.push({
      id: "log-aer-corrected",
      severity: "note",
      subject: die.address,
      message:
        `${counted(correctedCount, "corrected PCIe error")} on the way to it: ` +
        `nothing is lost, the link is poor`,
      mend: "seat the board again, or change the riser",
      command: "dmesg | grep -E 'AER|PCIe Bus Error'",
    });
  }
  return findings;
}

/** Of one error the root port's driver writes a line, and the function's another. */
function errorCount(lines: readonly LogLine[]): number {
  const ofFunction = lines.filter(({ text }) => text.includes("PCIe Bus Error")).length;
  return Math.max(ofFunction, lines.length - ofFunction);
}

const isGrave = (text: string): boolean => /Uncorrected|Uncorrectable|\bFatal\b/i.test(text);

const HUNG_TASK = /INFO: task (\S+):(\d+) blocked for more than (\d+) seconds/;
const OUR_TASKS = /^(modprobe|insmod|rmmod|nvidia|nv_|node|holdfast|irq\/\d+-nvidia|kworker.*nv)/;

function hungTasks(lines: readonly LogLine[]): readonly Finding[] {
  const tasks = new Map<string, Finding>();
  for (const { text } of lines) {
    const [, name = "", pid = "", seconds = ""] = HUNG_TASK.exec(text) ?? [];
    if (!OUR_TASKS.test(name)) continue;
    tasks.set(pid, {
      id: "log-hung-task",
      severity: "warning",
      subject: `${name} (pid ${pid})`,
      message: `it was stuck in the kernel for more than ${seconds} s`,
      mend: "see whether it still is; the call trace below that line names the step that hangs",
      command: `grep State /proc/${pid}/status; dmesg | grep -A 20 'task ${name}:${pid}'`,
    });
  }
  return [...tasks.values()];
}
