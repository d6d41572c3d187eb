import { adviceFor, BRING_UP_STEPS, describeStep, type Interruption } from "../../owner/mod.ts";
import type { Check } from "../check.ts";
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
  run: ({ state }) => state.interruptions.flatMap((found) => findingOf(found) ?? []),
};

function findingOf({ line, how }: Interruption): Finding | null {
  // A newer version may know rungs that we do not.
  if (!BRING_UP_STEPS.includes(line.step)) return null;
  const { severity, what } = KINDS[how];
  const die = `die ${line.die}${line.address === undefined ? "" : ` (${line.address})`}`;
  return {
    id: idOf(how),
    severity,
    subject: `die ${line.die}`,
    message:
      `rung '${line.step}' of ${die} (${describeStep(line.step)}) was begun at ${line.time} ` +
      `by pid ${line.pid} and came to no end: ${what}`,
    mend: adviceFor(line.step, how),
    command: commandFor(how, line.stepPid ?? line.pid),
  };
}

function commandFor(how: How, pid: number): string {
  switch (how) {
    case "host_reset":
      return "holdfast ladder --slot bar_swap --retry";
    case "hung":
      return `grep -E 'Name|State' /proc/${pid}/status; cat /proc/${pid}/wchan`;
    case "killed":
      return "holdfast ladder --slot bar_swap";
    case "running":
      return `ps -fp ${pid}`;
  }
}
