import { adviceFor, describeStep, type Interruption } from "../../owner/mod.ts";
import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding, Severity } from "../finding.ts";

type How = Interruption["how"];

const KINDS: Readonly<Record<How, { readonly severity: Severity; readonly what: string }>> = {
  host_reset: { severity: "problem", what: "the machine was started anew in the middle of it" },
  hung: { severity: "problem", what: "it does not come back, and its process is still there" },
  killed: { severity: "warning", what: "the owner ended in the middle of it" },
  running: { severity: "note", what: "its process is alive, and may still be at it" },
};

const idOf = (how: How): string => `bring-up-${how.replace("_", "-")}`;

/** Rungs that were begun and came to no end, as the journal has them. */
export const bringUp: Check = {
  id: "bring-up",
  title: "no bring-up was interrupted: the journal names the rung and the die",
  scope: "machine",
  findings: (Object.keys(KINDS) as readonly How[]).map(idOf),
  run: (facts) => facts.state.interruptions.map((found) => findingOf(found, facts)),
};

function findingOf({ line, how }: Interruption, facts: Facts): Finding {
  const { severity, what } = KINDS[how];
  const isSimulated = line.slot === "sim";
  const die = `die ${line.die}${line.address === undefined ? "" : ` (${line.address})`}`;
  return {
    id: idOf(how),
    // A rehearsal stands in nobody's way but its own.
    severity: isSimulated ? "note" : severity,
    subject: `die ${line.die}`,
    message:
      `rung '${line.step}' of ${isSimulated ? "simulated " : ""}${die} ` +
      `(${describeStep(line.step)}) was begun at ${line.time} by pid ${line.pid} ` +
      `and came to no end: ${what}`,
    mend: adviceFor(line.step, how),
    command: commandFor({ line, how }, facts),
  };
}

function commandFor({ line, how }: Interruption, { slotKind, state }: Facts): string {
  const ladder = `holdfast ladder --slot ${line.slot ?? slotKind} --state-dir ${state.directory}`;
  const pid = line.stepPid ?? line.pid;
  switch (how) {
    case "host_reset":
      return `${ladder} --retry`;
    case "hung":
      return `grep -E 'Name|State' /proc/${pid}/status; cat /proc/${pid}/wchan`;
    case "killed":
      return ladder;
    case "running":
      return `ps -fp ${pid}`;
  }
}
