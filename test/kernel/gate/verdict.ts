/** Judges a run by what the guest said and the daemon on the host printed, and prints it. */
import { readFileSync } from "node:fs";
import { PARTS } from "./console.ts";
import type { HostBridge } from "./host-bridge.ts";
import type { Progress } from "./progress.ts";
import { tailOf } from "./tool.ts";
import { findGuestFaults, type GuestReport } from "./watch.ts";

const SERIAL_TAIL_LINES = 40;
const BRIDGE_TAIL_LINES = 30;

/** What becomes of the jobs that examples/guest-v1 posts, in its order. */
const V1_STATUSES = ["ok", "ok", "ok", "verify_failed", "out_of_bounds"] as const;

export type Evidence = {
  readonly report: GuestReport;
  readonly bridge: Pick<HostBridge, "jobLines" | "otherLines">;
  readonly bridgeCode: number | null;
  readonly serialLog: string;
};

/** Prints it, with the logs' ends where something failed. True where all is well. */
export function writeVerdict(evidence: Evidence, progress: Progress): boolean {
  const { report, bridge, serialLog } = evidence;
  const guestFaults = findGuestFaults(report);
  const bridgeFaults = findBridgeFaults(evidence);
  const faults = [...guestFaults, ...bridgeFaults];
  if (faults.length > 0) {
    progress.note(`end of the guest's console (${serialLog}):`);
    for (const line of tailOf(readFileSync(serialLog, "utf8"), SERIAL_TAIL_LINES).split("\n")) {
      progress.relay(line);
    }
    progress.note("end of what the daemon on the host printed:");
    const printed = [...bridge.otherLines, ...bridge.jobLines];
    for (const line of printed.slice(-BRIDGE_TAIL_LINES)) progress.relay(line);
  }
  for (const fault of faults) progress.note(`✖ ${fault}`);
  if (faults.length === 0) progress.note("✔ v1 in the guest's RAM and v2 on debugfs");

  // The tests of v2, and one for each other part and for the daemon on the host.
  const v2 = report.v2 ?? { tests: 0, pass: 0, fail: 0, skipped: 0 };
  const others = [...PARTS.map((part) => report.codes.get(part) === 0), bridgeFaults.length === 0];
  const good = others.filter(Boolean).length;
  progress.close({
    tests: v2.tests + others.length,
    pass: v2.pass + good,
    fail: v2.fail + others.length - good,
    skipped: v2.skipped,
  });
  return faults.length === 0;
}

function findBridgeFaults({ bridge, bridgeCode }: Evidence): string[] {
  const statuses = bridge.jobLines.map((line) => /\bstatus=(\w+)/.exec(line)?.[1] ?? "none");
  const faults: string[] = [];
  if (statuses.join() !== V1_STATUSES.join()) {
    faults.push(`the daemon on the host answered ${statuses.join()}, not ${V1_STATUSES.join()}`);
  }
  if (bridgeCode !== 0) faults.push(`the daemon on the host ended with ${String(bridgeCode)}`);
  return faults;
}
