import type { StricliProcess } from "@stricli/core";
import type { ExitCode } from "./exit-code.ts";
import type { Surroundings } from "./surroundings.ts";

/** What a command is called with: `this` of every command function. */
export type CliContext = {
  readonly process: StricliProcess;
  readonly surroundings: Surroundings;
};

/** A command: does its work, and says how it ended. */
export type CommandFunction<Flags, Arguments extends readonly unknown[] = []> = (
  surroundings: Surroundings,
  flags: Flags,
  ...positional: Arguments
) => Promise<ExitCode>;
