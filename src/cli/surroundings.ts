/**
 * What a command may touch of the process that it runs in. Only `main.ts` makes one from the real
 * process; tests bring their own.
 */
import type { LineSink } from "../base/mod.ts";
import type { OpenOwner } from "./open-owner.ts";

export type LeaveSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** What Node tells of itself and its user. */
export type HostFacts = {
  /** E.g. `v20.19.0`. */
  readonly nodeVersion: string;
  /** As Node calls it, e.g. `x64`. */
  readonly architecture: string;
  readonly uid: number;
  readonly groups: readonly number[];
  readonly pid: number;
};

export type Surroundings = {
  /** Relative paths are relative to this. */
  readonly workingDirectory: string;
  /** Where state is kept unless `--state-dir` says otherwise. */
  readonly stateDirectory: string;
  readonly temporaryDirectory: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  /** True where a person sits at both stdin and stdout. */
  readonly isInteractive: boolean;
  /** stdout and stderr, written at once. */
  readonly output: LineSink;
  readonly errors: LineSink;
  readonly now: () => Date;
  /** Calls back for each of these signals; the returned function takes that back. */
  readonly onSignal: (listener: (signal: LeaveSignal) => void) => () => void;
  /** Calls back where somebody asks for the counters, by SIGUSR2 (SIGUSR1 is Node's own). */
  readonly onReportSignal: (listener: () => void) => () => void;
  /** Calls back as the process ends through `exit`; the returned function takes that back. */
  readonly onExit: (listener: () => void) => () => void;
  /** Ends the process now; nothing runs after it. */
  readonly exit: (code: number) => never;
  readonly openOwner: OpenOwner;
  /** Absolute path of the base payload, kernels/base.ptx. */
  readonly basePayload: string;
  /** The words that start this program; its arguments follow. */
  readonly program: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly host: HostFacts;
  /** The package's. */
  readonly version: () => string;
};

/** XDG_STATE_HOME/holdfast where that is absolute, else ~/.local/state/holdfast. */
export function stateDirectoryOf(
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const { XDG_STATE_HOME: stateHome = "", HOME: home = "" } = environment;
  if (stateHome.startsWith("/")) return `${stateHome}/holdfast`;
  return home.startsWith("/") ? `${home}/.local/state/holdfast` : "/var/lib/holdfast";
}
