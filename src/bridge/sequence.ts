/** The sequence rules (DESIGN section 6, rule 2): what becomes of a record that was posted. */

/**
 * `run`: it is new. `repeat`: it is the last one, so its done record is written again. `stale`: it
 * is older than the last one. `unnumbered`: sequence numbers begin at 1.
 */
export type SequenceDecision = "run" | "repeat" | "stale" | "unnumbered";

/**
 * Decides on a posted record. `last` is the sequence number of the last completed one, null where
 * there is none. `isReset` lets a lower number through: it is the last one once it is completed,
 * so that the same record is a repeat from then on.
 */
export function decideSequence(
  last: bigint | null,
  posted: { readonly seq: bigint; readonly isReset: boolean },
): SequenceDecision {
  const { seq, isReset } = posted;
  if (seq === 0n) return "unnumbered";
  if (last === null || seq > last) return "run";
  if (seq === last) return "repeat";
  return isReset ? "run" : "stale";
}
