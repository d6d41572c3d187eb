/** The command loop: one line after the other, each done before the next is looked at. */
import { LINE_BYTES_MAX, type InputLine, type LineRefusalCode } from "./line-reader.ts";
import { leavingLine, type CommandContext, type CommandOutcome } from "./commands.ts";
import { parseCommand } from "./parse-command.ts";

export type ReplOptions = CommandContext & {
  /** Resolves with why where somebody asks to leave other than by a command, such as a signal. */
  readonly asked: Promise<string>;
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
 * Reads commands until one says to leave or the input ends. Nobody could read a result after that,
 * so nothing is waited for. Where it is asked to leave, the command under way is the last one, and
 * what was accepted ends first. The owner is not told to leave: that is the caller's, once the last
 * line is out.
 */
export async function runRepl(options: ReplOptions): Promise<void> {
  const { owner, log, sourceName, logName } = options;
  log(`owner REPL ready (fifo=${sourceName} log=${logName}) — type 'help'`);
  const reason = await executeLines(options);
  if (reason.kind === "asked") await owner.drain();
  if (reason.kind !== "command") log(leavingLine(reason.text));
  log("owner REPL exiting");
}

/** Why the loop has ended; a command has said so itself. */
type Ending =
  { readonly kind: "command" } | { readonly kind: "input" | "asked"; readonly text: string };

async function executeLines(options: ReplOptions): Promise<Ending> {
  const lines = options.lines[Symbol.asyncIterator]();
  for (;;) {
    // The one who asks goes first: more lines may be there already.
    const next = await Promise.race([options.asked, lines.next()]);
    if (typeof next === "string") return { kind: "asked", text: next };
    if (next.done === true) return { kind: "input", text: "end of input" };
    const outcome = await executeLine(options, next.value);
    if (outcome === "leave") return { kind: "command" };
  }
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
