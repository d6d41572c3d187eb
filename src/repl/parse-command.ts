import { err, ok, type Result } from "../base/mod.ts";
import { COMMAND_ARGUMENTS } from "./command-arguments.ts";
import { COMMANDS, usageOf, type Command, type CommandValues } from "./commands.ts";
import { printable } from "./printable.ts";

export type CommandErrorCode =
  "unknown_command" | "missing_argument" | "surplus_argument" | "bad_argument";

/** Why a line is no command; `message` is the one line to log. */
export type CommandError = { readonly code: CommandErrorCode; readonly message: string };

export type ParsedCommand = {
  readonly command: Command;
  /** The name that was typed. */
  readonly name: string;
  readonly values: CommandValues;
};

/** Splits a line into words as strtok did: blanks, tabs and stray carriage returns divide. */
export function wordsOf(line: string): string[] {
  return line.split(/[ \t\r\n]+/).filter((word) => word !== "");
}

/** Null for a line without words. */
export function parseCommand(line: string): Result<ParsedCommand, CommandError> | null {
  const [name, ...texts] = wordsOf(line);
  if (name === undefined) return null;
  const command = COMMANDS.find((each) => each.names.includes(name));
  if (command === undefined) {
    const message = `unknown command '${printable(name)}' — try 'help'`;
    return err({ code: "unknown_command", message });
  }
  const fail = (code: CommandErrorCode, reason: string): Result<never, CommandError> => {
    const typed = printable([name, ...texts].join(" "));
    return err({ code, message: `${typed}: ${reason}; usage: ${usageOf(command)}` });
  };
  const values = { die: 0, seed: 0, iters: 0 };
  for (const [index, argument] of command.arguments.entries()) {
    const text = texts[index];
    if (text === undefined) return fail("missing_argument", `missing <${argument}>`);
    const value = COMMAND_ARGUMENTS[argument].parse(text);
    if (!value.ok) return fail("bad_argument", value.error);
    values[argument] = value.value;
  }
  const surplus = texts[command.arguments.length];
  if (surplus !== undefined) {
    return fail("surplus_argument", `surplus argument '${printable(surplus)}'`);
  }
  return ok({ command, name, values });
}
