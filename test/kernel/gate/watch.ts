/** Runs the guest and keeps what its console said of each part. */
import {
  partsOf,
  readConsoleLine,
  readTestCounts,
  SUITES,
  type OptionalPart,
  type TestCounts,
} from "./console.ts";
import { runGuest, type GuestEnd, type GuestOptions } from "./guest.ts";
import type { Progress } from "./progress.ts";

/**
 * More than the parts may take together, by their timeouts in guest/run.sh. Those are long: a machine
 * with other work makes emulation many times slower, and what hangs is found by each test itself.
 */
const GUEST_TIMEOUT_MS = 1_100_000;

export type GuestReport = {
  /** The parts that it was asked for. */
  readonly wanted: readonly OptionalPart[];
  readonly end: GuestEnd;
  /** It came to its own end, not to a panic or to its timeout. */
  readonly isWhole: boolean;
  /** Exit codes of the parts that ended. */
  readonly codes: ReadonlyMap<string, number>;
  /** Of the tests in each of SUITES; without the part where its report is not whole. */
  readonly counts: ReadonlyMap<string, TestCounts>;
};

/** Boots the guest, prints what it says, and waits for its end. */
export async function watchGuest(
  guest: Omit<GuestOptions, "timeoutMs" | "onLine">,
  wanted: readonly OptionalPart[],
  progress: Progress,
): Promise<GuestReport> {
  const codes = new Map<string, number>();
  const lines = new Map<string, string[]>(SUITES.map((suite) => [suite, []]));
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
      lines.get(part)?.push(event.text);
    }
  };
  const end = await runGuest({ ...guest, timeoutMs: GUEST_TIMEOUT_MS, onLine });
  const counts = new Map<string, TestCounts>();
  for (const [suite, printed] of lines) {
    const read = readTestCounts(printed);
    if (read !== null) counts.set(suite, read);
  }
  return { wanted, end, isWhole, codes, counts };
}

/** What is wrong with a report, a line each; none where the guest's whole run passed. */
export function findGuestFaults(report: GuestReport): string[] {
  const faults = partsOf(report.wanted).flatMap((part) => {
    const code = report.codes.get(part);
    if (code === 0) return [];
    return [`${part} ${code === undefined ? "did not end" : `ended with ${String(code)}`}`];
  });
  if (report.end === "timed_out") faults.push("the guest hung and was ended");
  if (!report.isWhole) faults.push("the guest did not come to its own end");
  // A suite that was never run passes nothing: its report must be there and name tests.
  for (const suite of SUITES.filter((each) => report.wanted.includes(each))) {
    if ((report.counts.get(suite)?.pass ?? 0) === 0)
      faults.push(`${suite} reported no passing test`);
  }
  return faults;
}
