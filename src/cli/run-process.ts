/** One command line in one process, from its first word to its exit code. */
import { readFileSync } from "node:fs";
import { createLineSink, openOutputDescriptor } from "../base/mod.ts";
import { bugText } from "./application-text.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { OpenOwner } from "./open-owner.ts";
import { runCli } from "./run-cli.ts";
import { stateDirectoryOf, type LeaveSignal, type Surroundings } from "./surroundings.ts";

export type ProcessOptions = {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly temporaryDirectory: string;
  /** Of package.json, which names the version. */
  readonly packagePath: string;
  readonly openOwner: OpenOwner;
  /** Absolute path of the base payload, kernels/base.ptx. */
  readonly basePayload: string;
  /** The words that start this program; its arguments follow. */
  readonly program: readonly [string, ...string[]];
};

const LEAVE_SIGNALS: readonly LeaveSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs the command line and ends the process: a die host or a socket must not keep it alive. */
export async function runProcess(process: NodeJS.Process, options: ProcessOptions): Promise<never> {
  const surroundings = surroundingsOf(process, options);
  process.on("uncaughtException", (error) => {
    surroundings.errors.write(`${bugText(error)}\n`);
    process.exit(EXIT.bug);
  });
  process.exit(toldOfLoss(surroundings, await runCli(options.words, surroundings)));
}

/** Answers that a full disk swallowed are no success, whatever became of the work itself. */
function toldOfLoss({ output, errors }: Surroundings, code: ExitCode): ExitCode {
  const failure = output.failure();
  if (failure === null) return code;
  errors.write(`holdfast: stdout could not be written (${failure}); what it was to say is lost\n`);
  return code === EXIT.ok ? EXIT.checkFailed : code;
}

function surroundingsOf(process: NodeJS.Process, options: ProcessOptions): Surroundings {
  return {
    workingDirectory: process.cwd(),
    stateDirectory: stateDirectoryOf(options.environment),
    temporaryDirectory: options.temporaryDirectory,
    // Made when first asked for: merely touching stdin starts to read it, and a stream costs
    // milliseconds that --help does without.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    now: () => new Date(),
    get isInteractive() {
      return process.stdin.isTTY && process.stdout.isTTY;
    },
    output: createLineSink({ fileDescriptor: openOutputDescriptor(1) }),
    errors: createLineSink({ fileDescriptor: openOutputDescriptor(2) }),
    onSignal: (listener) => {
      for (const signal of LEAVE_SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of LEAVE_SIGNALS) process.off(signal, listener);
      };
    },
    onReportSignal: (listener) => {
      process.on("SIGUSR2", listener);
      return () => {
        process.off("SIGUSR2", listener);
      };
    },
    onExit: (listener) => {
      process.on("exit", listener);
      return () => {
        process.off("exit", listener);
      };
    },
    exit: (code) => process.exit(code),
    openOwner: options.openOwner,
    program: options.program,
    basePayload: options.basePayload,
    environment: options.environment,
    host: {
      nodeVersion: process.version,
      architecture: process.arch,
      uid: process.getuid?.() ?? 0,
      groups: process.getgroups?.() ?? [],
      pid: process.pid,
    },
    version: () => readVersion(options.packagePath),
  };
}

function readVersion(path: string): string {
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { readonly version: string };
  return version;
}
