import type { CliContext, CommandFunction } from "./context.ts";

type Loaded<Flags, Arguments extends readonly unknown[]> = (
  this: CliContext,
  flags: Flags,
  ...positional: Arguments
) => Promise<void>;

/** Fits a command to the parser: hands it its surroundings, and keeps its exit code. */
export function fit<Flags, Arguments extends readonly unknown[]>(
  command: CommandFunction<Flags, Arguments>,
): Loaded<Flags, Arguments> {
  return async function (this: CliContext, flags, ...positional) {
    this.process.exitCode = await command(this.surroundings, flags, ...positional);
  };
}
