/** The command loop: one line after the other, each done before the next is looked at. */
import { LINE_BYTES_MAX, type InputLine, type LineRefusalCode } from "./line-reader.ts";
import { leavingLine, type CommandContext, type CommandOutcome } from "./commands.ts";
import { parseCommand } from "./parse-command.ts";

export type ReplOptions = CommandContext & {
  /** Resolves with why where somebody asks to leave other than by a command, such as a signal. */
  readonly asked: Promise<string>;
  /** They have lost patience since, and the owner leaves: the last lines are theirs to log. */
  readonly hasInsisted?: () => boolean;
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
  if (options.hasInsisted?.() === true) return;
  if (reason.kind !== "command") log(leavingLine(reason.text, owner));
  log("owner REPL exiting");
}

/** Why the loop has ended; a command has said so itself. */
type Ending =
  { readonly kind: "command" } | { readonly kind: "input" | "asked"; readonly text: string };

async function executeLines(options: ReplOptions): Promise<Ending> {
  const lines = options.lines[Symbol.asyncIterator]();
  const orAsked = createOrAsked(options.asked);
  for (;;) {
    // The one who asks goes first: more lines may be there already.
    const next = await orAsked(lines.next());
    if (typeof next === "string") return { kind: "asked", text: next };
    if (next.done === true) return { kind: "input", text: "end of input" };
    const outcome = await executeLine(options, next.value);
    if (outcome === "leave") return { kind: "command" };
  }
}

/**
 * Whichever comes first: what was waited for, or that somebody asks. A race for each line would
 * leave something behind in `asked`, which outlives them all.
 */
function createOrAsked(asked: Promise<string>): <T>(waited: Promise<T>) => Promise<T | string> {
  let reason: string | null = null;
  let wake: (reason: string) => void = () => undefined;
  void asked.then((text) => {
    reason = text;
    wake(text);
  });
  return (waited) =>
    new Promise((resolve, reject) => {
      wake = resolve;
      if (reason !== null) resolve(reason);
      waited.then(resolve, reject);
    });
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
