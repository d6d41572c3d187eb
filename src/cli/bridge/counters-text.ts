/** A bridge's counters as lines, one a mailbox. */
import type { MailboxCounters } from "../../bridge/mod.ts";

/** `NAME: jobs=12 repeated=0 status.ok=11 status.bad_size=1 rejected.bad_crc=3`. */
export function countersLine(name: string, counters: MailboxCounters): string {
  const { jobs, repeated, statuses, rejected } = counters;
  const words = [
    `jobs=${jobs}`,
    `repeated=${repeated}`,
    ...counted("status", statuses),
    ...counted("rejected", rejected),
  ];
  return `${name}: ${words.join(" ")}`;
}

const counted = (group: string, counts: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${group}.${name}=${count}`);
