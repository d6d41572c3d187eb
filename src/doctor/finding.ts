/** What a check has to say. */

/**
 * `problem`: Holdfast cannot run as asked before it is mended. `warning`: it can, and something
 * will
 * go wrong or be slow. `note`: worth knowing, or could not be checked.
 */
export type Severity = "problem" | "warning" | "note";

/** From the gravest. */
export const SEVERITIES = ["problem", "warning", "note"] as const satisfies readonly Severity[];

export type Finding = {
  /** What kind of thing is wrong, e.g. `bar-unassigned`; one of its check's `findings`. */
  readonly id: string;
  readonly severity: Severity;
  /** What it is about: a die's address, a path, a process; null where it is the machine. */
  readonly subject: string | null;
  /** What is wrong, exactly: one line. */
  readonly message: string;
  /** What to do about it: one line. */
  readonly mend: string;
  /** A line to type, where one does it. */
  readonly command: string | null;
};
