/** The command loop: one line after the other, each done before the next is looked at. */
import { LINE_BYTES_MAX, type InputLine, type LineRefusalCode } from "./line-reader.ts";
import { leavingLine, type CommandContext, type CommandOutcome } from "./commands.ts";
import { parseCommand } from "./parse-command.ts";

export type ReplOptions = CommandContext & {
  readonly lines: AsyncIterable<InputLine>;
  /** What the first line calls source and log. */
  readonly sourceName: string;
  readonly logName: string;
};

/** One line for each kind of line that is refused unread. */
const REFUSALS: Readonly<Record<LineRefusalCode, string>> = {
  too_long: `input line over ${LINE_BYTES_MAX} bytes refused, the rest of it is discarded`,
  nul_byte: "input line with a NUL byte refused — commands are text",
  not_utf8: "input line that is no UTF-8 refused — commands are text",
};

/**
 * Reads commands until one says to leave or the input ends. The owner is not told to leave: that is
 * the caller's, once the last line is out.
 */
export async function runRepl(options: ReplOptions): Promise<void> {
  const { lines, log, sourceName, logName } = options;
  log(`owner REPL ready (fifo=${sourceName} log=${logName}) — type 'help'`);
  let outcome: CommandOutcome = "continue";
  for await (const line of lines) {
    outcome = await executeLine(options, line);
    if (outcome === "leave") break;
  }
  if (outcome === "continue") log(leavingLine("end of input"));
  log("owner REPL exiting");
}

/** Does what one line says. Whatever is wrong with it is one line in the log. */
export async function executeLine(
  context: CommandContext,
  line: InputLine,
): Promise<CommandOutcome> {
  if (line.kind === "refused") {
    context.log(REFUSALS[line.code]);
    return "continue";
  }
  if (line.kind === "lost") {
    context.log(`input cannot be read any further (${line.code})`);
    return "continue";
  }
  const parsed = parseCommand(line.text);
  if (parsed === null) return "continue";
  if (!parsed.ok) {
    context.log(parsed.error.message);
    return "continue";
  }
  const { command, values, name } = parsed.value;
  return await command.run(context, values, name);
}
