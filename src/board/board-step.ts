/** Steps as the board takes them: named, timed, and their failures in the board's own words. */
import { err, type Result } from "../base/mod.ts";
import type { BoardFailure } from "./board.ts";
import type { StepCall, StepCalls, StepError } from "./step-protocol.ts";
import type { StepFailure, StepRunner } from "./step-runner.ts";

/**
 * How long each sort of step may take, in milliseconds. Long against what such a step takes on a
 * machine that works (a driver's probe of a die: a few seconds), short for who waits at a prompt.
 */
export type StepTimeouts = {
  /** An attribute of sysfs; it waits for the device's lock. */
  readonly attributeMs: number;
  /** A configuration read: a switch gives up on a dead link within a second. */
  readonly presenceMs: number;
  /** A driver's probe or removal of one die. */
  readonly bindMs: number;
  /** Loading the driver, its probe of the first die included. */
  readonly loadMs: number;
  /** QUERY and DIE: they ask the kernel module alone. */
  readonly slotQueryMs: number;
  /** ACQUIRE, RELEASE and reads of BAR1: they reprogram bridges and touch the die. */
  readonly slotMoveMs: number;
};

export const STEP_TIMEOUTS: StepTimeouts = {
  attributeMs: 10_000,
  presenceMs: 5_000,
  bindMs: 60_000,
  loadMs: 120_000,
  slotQueryMs: 5_000,
  slotMoveMs: 30_000,
};

/** What a call to the board's hardware came to. */
export type StepOutcome<T> = Result<T, BoardFailure>;

export const refused = (call: string, message: string): StepOutcome<never> =>
  err({ verdict: "refused", call, message });

export const lost = (call: string, message: string): StepOutcome<never> =>
  err({ verdict: "lost", call, message });

/** What an operator can do about an errno, whatever the step was. */
const MENDS: Readonly<Record<string, string>> = {
  EACCES: "run it as root",
  EPERM: "run it as root, and see whether kernel lockdown is on (`holdfast doctor`)",
  EROFS: "/sys is mounted read-only here, as containers have it: run it on the host",
};

/** A step, and what to call it. */
export type StepAt<K extends StepCall> = {
  readonly call: K;
  /** What an operator would call it. */
  readonly name: string;
  readonly timeoutMs: number;
  /** What an errno means for this step. */
  readonly meanings?: Readonly<Record<string, string>>;
};

/** A step that the system turned down, as the board tells it. */
export function failedStep(
  at: Pick<StepAt<StepCall>, "name" | "meanings">,
  error: StepError,
): BoardFailure {
  const mend = at.meanings?.[error.code] ?? MENDS[error.code];
  const message = mend === undefined ? error.message : `${error.message}; ${mend}`;
  return { verdict: "refused", call: at.name, message };
}

function boardFailureOf(at: StepAt<StepCall>, failure: StepFailure): BoardFailure {
  const call = at.name;
  switch (failure.kind) {
    case "failed":
      return failedStep(at, failure);
    case "hung": {
      const { message, stuck } = failure;
      if (stuck === null) return { verdict: "hung", call, message };
      const { pid, startTicks } = stuck;
      return { verdict: "hung", call, message, stepPid: pid, stepStartTicks: startTicks };
    }
    case "ended":
      // Whether the call was made before its process ended is not known.
      return { verdict: "hung", call, message: `${failure.message} in the middle of it` };
  }
}

/** Runs a step; its failure is the board's. */
export async function boardStep<K extends StepCall>(
  runner: StepRunner,
  at: StepAt<K>,
  body: StepCalls[K]["request"],
): Promise<StepOutcome<StepCalls[K]["reply"]>> {
  const done = await runner.run(at.call, body, at.timeoutMs);
  return done.ok ? done : err(boardFailureOf(at, done.error));
}
