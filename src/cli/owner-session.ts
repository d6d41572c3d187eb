/** Opens an owner for the length of one command. */
import { constants } from "node:os";
import { resolve } from "node:path";
import { stampedLog, type Log } from "../base/mod.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { OutputFlags, OwnerFlags } from "./flags.ts";
import {
  isBackendNote,
  type OpenedOwner,
  type OwnerRequestError,
  type OwnerRequestErrorCode,
} from "./open-owner.ts";
import type { LeaveSignal, Surroundings } from "./surroundings.ts";

const EXIT_OF: Readonly<Record<OwnerRequestErrorCode, ExitCode>> = {
  not_supported: EXIT.badUsage,
  no_device: EXIT.noDevice,
};

/** What a shell reports of a program that a signal ended: this plus the signal's number. */
const SIGNAL_EXIT_BASE = 128;

/** The exit code of a command that a signal cut short. */
export const exitOfSignal = (signal: LeaveSignal): number =>
  SIGNAL_EXIT_BASE + constants.signals[signal];

/** Where this run keeps its state. Absolute. */
export function stateDirectoryFor(surroundings: Surroundings, flags: OwnerFlags): string {
  const { workingDirectory, stateDirectory } = surroundings;
  return resolve(workingDirectory, flags.stateDir ?? stateDirectory);
}

/** One line to stderr that begins with our name. */
export function complain(surroundings: Surroundings, text: string): void {
  surroundings.errors.write(`holdfast: ${text.replaceAll(/[\r\n]+/g, " ")}\n`);
}

/** Lets pass only what every user should see. */
function quietLog(surroundings: Surroundings): Log {
  return (text) => {
    if (isBackendNote(text)) complain(surroundings, text);
  };
}

/** Says why there is no owner. */
export function exitOfRefusedOwner(surroundings: Surroundings, error: OwnerRequestError): ExitCode {
  complain(surroundings, error.message);
  return EXIT_OF[error.code];
}

/**
 * Calls `action` with an owner that leaves afterwards. Where there is none, says why and gives the
 * exit code for that.
 */
export async function withOwner(
  surroundings: Surroundings,
  flags: OwnerFlags & OutputFlags,
  action: (opened: OpenedOwner) => Promise<ExitCode>,
): Promise<ExitCode> {
  const write = (line: string): void => {
    surroundings.errors.write(line);
  };
  const opened = await surroundings.openOwner({
    ...flags,
    stateDirectory: stateDirectoryFor(surroundings, flags),
    dies: flags.dies ?? null,
    log: flags.verbose ? stampedLog(write, surroundings.now) : quietLog(surroundings),
  });
  if (!opened.ok) return exitOfRefusedOwner(surroundings, opened.error);
  const { owner } = opened.value;
  const forget = surroundings.onSignal((signal) => {
    void owner.leave().then(() => surroundings.exit(exitOfSignal(signal)));
  });
  try {
    const code = await action(opened.value);
    const isHidden = code === EXIT.noDevice || code === EXIT.deviceFault;
    if (isHidden && !flags.verbose) complain(surroundings, "--verbose shows the steps up to this");
    return code;
  } finally {
    await owner.leave();
    forget();
  }
}
