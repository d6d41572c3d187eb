/** What the process tells its caller; DESIGN section 5. */
export const EXIT = {
  ok: 0,
  /** A check failed: the machine works, and an answer is wrong. */
  checkFailed: 1,
  /** The command line, a file or a job is wrong; the message names the mend. */
  badUsage: 2,
  /** No GPU, or not the one that was asked for. */
  noDevice: 3,
  /** The device failed, hung or was lost under the job. */
  deviceFault: 4,
  /** A bug in Holdfast itself (sysexits.h: EX_SOFTWARE). */
  bug: 70,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
