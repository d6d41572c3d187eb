/** Judges a run by what the guest said and the daemon on the host printed, and prints it. */
import { readFileSync } from "node:fs";
import { partsOf, type OptionalPart, type TestCounts } from "./console.ts";
import type { HostBridge } from "./host-bridge.ts";
import type { Progress } from "./progress.ts";
import { tailOf } from "./tool.ts";
import { findGuestFaults, type GuestReport } from "./watch.ts";

const SERIAL_TAIL_LINES = 40;
const BRIDGE_TAIL_LINES = 30;

/** What becomes of the jobs that examples/guest-v1 posts, in its order. */
const V1_STATUSES = ["ok", "ok", "ok", "verify_failed", "out_of_bounds"] as const;

/** What each part has shown where it passed. */
const TELLING: Readonly<Record<OptionalPart, string>> = {
  v1: "v1 in the guest's RAM",
  slot: "the window's own rules",
  kills: "a ladder killed in every rung",
  board: "dies behind /dev/bar_swap",
  v2: "v2 on debugfs",
  locked: "lockdown",
};

export type BridgeEvidence = Pick<HostBridge, "jobLines" | "otherLines"> & {
  readonly code: number | null;
};

export type Evidence = {
  readonly report: GuestReport;
  /** Null where part v1 was not asked for. */
  readonly bridge: BridgeEvidence | null;
  readonly serialLog: string;
};

/** Prints it, with the logs' ends where something failed. True where all is well. */
export function writeVerdict(evidence: Evidence, progress: Progress): boolean {
  const { report, bridge, serialLog } = evidence;
  const guestFaults = findGuestFaults(report);
  const bridgeFaults = bridge === null ? [] : findBridgeFaults(bridge);
  const faults = [...guestFaults, ...bridgeFaults];
  if (faults.length > 0) {
    progress.note(`end of the guest's console (${serialLog}):`);
    for (const line of tailOf(readFileSync(serialLog, "utf8"), SERIAL_TAIL_LINES).split("\n")) {
      progress.relay(line);
    }
    if (bridge !== null) {
      progress.note("end of what the daemon on the host printed:");
      const printed = [...bridge.otherLines, ...bridge.jobLines];
      for (const line of printed.slice(-BRIDGE_TAIL_LINES)) progress.relay(line);
    }
  }
  for (const fault of faults) progress.note(`✖ ${fault}`);
  if (faults.length === 0)
    progress.note(`✔ ${report.wanted.map((part) => TELLING[part]).join(", ")}`);

  progress.close(countAll(report, bridge === null ? [] : [bridgeFaults.length === 0]));
  return faults.length === 0;
}

/** The tests of the suites, and one for each part and for the daemon on the host. */
function countAll(report: GuestReport, others: readonly boolean[]): TestCounts {
  const suites = [...report.counts.values()];
  const ones = [...partsOf(report.wanted).map((part) => report.codes.get(part) === 0), ...others];
  const sum = (name: keyof TestCounts): number =>
    suites.reduce((total, counts) => total + counts[name], 0);
  const good = ones.filter(Boolean).length;
  return {
    tests: sum("tests") + ones.length,
    pass: sum("pass") + good,
    fail: sum("fail") + ones.length - good,
    skipped: sum("skipped"),
  };
}

function findBridgeFaults(bridge: BridgeEvidence): string[] {
  const statuses = bridge.jobLines.map((line) => /\bstatus=(\w+)/.exec(line)?.[1] ?? "none");
  const faults: string[] = [];
  if (statuses.join() !== V1_STATUSES.join()) {
    faults.push(`the daemon on the host answered ${statuses.join()}, not ${V1_STATUSES.join()}`);
  }
  if (bridge.code !== 0) faults.push(`the daemon on the host ended with ${String(bridge.code)}`);
  return faults;
}
