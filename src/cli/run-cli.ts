import { ExitCode as ParserExit, run, type StricliProcess } from "@stricli/core";
import { createApplication } from "./application.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { Surroundings } from "./surroundings.ts";

const EXIT_CODES: readonly number[] = Object.values(EXIT);

/** Runs one command line, whatever is on it. */
export async function runCli(
  words: readonly string[],
  surroundings: Surroundings,
): Promise<ExitCode> {
  const process: StricliProcess = {
    stdout: surroundings.output,
    stderr: surroundings.errors,
    env: {},
  };
  await run(createApplication(surroundings.version), words, { process, surroundings });
  return exitCodeOf(Number(process.exitCode));
}

/** The parser's own codes are negative. */
function exitCodeOf(code: number): ExitCode {
  if (code === ParserExit.UnknownCommand || code === ParserExit.InvalidArgument) {
    return EXIT.badUsage;
  }
  return EXIT_CODES.includes(code) ? (code as ExitCode) : EXIT.bug;
}
