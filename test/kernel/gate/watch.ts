/** Runs the guest and keeps what its console said of each part. */
import { PARTS, readConsoleLine, readTestCounts, type TestCounts } from "./console.ts";
import { runGuest, type GuestEnd, type GuestOptions } from "./guest.ts";
import type { Progress } from "./progress.ts";

/** Boot takes 5 s and all parts 60 s on two idle cores; one that takes five times as long hangs. */
const GUEST_TIMEOUT_MS = 300_000;

export type GuestReport = {
  readonly end: GuestEnd;
  /** It came to its own end, not to a panic or to its timeout. */
  readonly isWhole: boolean;
  /** Exit codes of the parts that ended. */
  readonly codes: ReadonlyMap<string, number>;
  /** Of the tests in part v2; null where their report is not whole. */
  readonly v2: TestCounts | null;
};

/** Boots the guest, prints what it says, and waits for its end. */
export async function watchGuest(
  guest: Omit<GuestOptions, "timeoutMs" | "onLine">,
  progress: Progress,
): Promise<GuestReport> {
  const codes = new Map<string, number>();
  const v2Lines: string[] = [];
  let part: string | null = null;
  let isWhole = false;
  const onLine = (raw: string): void => {
    const event = readConsoleLine(raw);
    if (event.kind === "begin") {
      part = event.part;
      progress.note(`guest: ${event.part}`);
    } else if (event.kind === "end") {
      codes.set(event.part, event.code);
      part = null;
      progress.note(`guest: ${event.part} ended with ${String(event.code)}`);
    } else if (event.kind === "whole") isWhole = true;
    else if (part !== null) {
      progress.relay(event.text);
      if (part === "v2") v2Lines.push(event.text);
    }
  };
  const end = await runGuest({ ...guest, timeoutMs: GUEST_TIMEOUT_MS, onLine });
  return { end, isWhole, codes, v2: readTestCounts(v2Lines) };
}

/** What is wrong with a report, a line each; none where the guest's whole run passed. */
export function findGuestFaults(report: GuestReport): string[] {
  const faults = PARTS.flatMap((part) => {
    const code = report.codes.get(part);
    if (code === 0) return [];
    return [`${part} ${code === undefined ? "did not end" : `ended with ${String(code)}`}`];
  });
  if (report.end === "timed_out") faults.push("the guest hung and was ended");
  if (!report.isWhole) faults.push("the guest did not come to its own end");
  // A suite that was never run passes nothing: its report must be there and name tests.
  if ((report.v2?.pass ?? 0) === 0) faults.push("v2 reported no passing test");
  return faults;
}
