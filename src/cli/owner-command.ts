/** `holdfast owner`: the command loop over a terminal, a pipe or a FIFO. */
import { join, resolve } from "node:path";
import { createLineSink, stampedLog, stampLine } from "../base/mod.ts";
import type { Owner } from "../owner/mod.ts";
import {
  HISTORY_LINES_MAX,
  linesOf,
  openFifo,
  openHistory,
  openLogFile,
  openTerminal,
  runRepl,
  type InputLine,
  type TerminalOptions,
} from "../repl/mod.ts";
import type { CommandFunction } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import type { OwnerFlags } from "./flags.ts";
import { stopOnSignal } from "./owner-stop.ts";
import { complain, exitOfRefusedOwner, stateDirectoryFor } from "./owner-session.ts";
import type { LeaveSignal, Surroundings } from "./surroundings.ts";

export type OwnerCommandFlags = OwnerFlags & {
  readonly fifo: string | undefined;
  readonly log: string | undefined;
};

/** Where command lines come from. */
type Source = {
  readonly lines: AsyncIterable<InputLine>;
  readonly name: string;
  /** Shows a line to the person at the prompt; null where there is none. */
  readonly show: ((line: string) => void) | null;
  readonly close: () => void;
};

/** Where the log goes. */
type Target = { readonly write: (line: string) => void; readonly name: string };

export const ownerCommand: CommandFunction<OwnerCommandFlags> = async (surroundings, flags) => {
  // A terminal's Tab asks the owner, which is opened after the log, which writes to the terminal.
  let owner: Owner | null = null;
  let interrupt: (signal: LeaveSignal) => void = () => undefined;
  const source = openSource(surroundings, flags, {
    dies: async () => (owner === null ? [] : (await owner.status()).dies.map(({ die }) => die)),
    interrupt: () => {
      interrupt("SIGINT");
    },
  });
  if (source === null) return EXIT.badUsage;
  const target = openTarget(surroundings, flags, source);
  const log = stampedLog(target.write, surroundings.now);
  const opened = await surroundings.openOwner({
    ...flags,
    stateDirectory: stateDirectoryFor(surroundings, flags),
    dies: flags.dies ?? null,
    log,
  });
  if (!opened.ok) {
    source.close();
    return exitOfRefusedOwner(surroundings, opened.error);
  }
  owner = opened.value.owner;
  const stop = stopOnSignal({ surroundings, owner, log, close: source.close });
  interrupt = stop.signal;
  try {
    const names = { sourceName: source.name, logName: target.name };
    const { asked, hasInsisted } = stop;
    await runRepl({ owner, log, lines: source.lines, asked, hasInsisted, ...names });
  } finally {
    source.close();
    await owner.leave();
    stop.forget();
  }
  return EXIT.ok;
};

/** Null after one line that says why there is nothing to read. */
function openSource(
  surroundings: Surroundings,
  flags: OwnerCommandFlags,
  terminalOptions: Pick<TerminalOptions, "dies" | "interrupt">,
): Source | null {
  const { stdin, stdout } = surroundings;
  const close = (): void => undefined;
  if (flags.fifo !== undefined) {
    const fifo = openFifo(resolve(surroundings.workingDirectory, flags.fifo));
    if (!fifo.ok) {
      complain(surroundings, `--fifo: ${fifo.error.message}`);
      return null;
    }
    return { lines: linesOf(fifo.value), name: flags.fifo, show: null, close };
  }
  if (!surroundings.isInteractive) {
    return { lines: linesOf(stdin), name: "stdin", show: null, close };
  }
  const historyPath = join(stateDirectoryFor(surroundings, flags), "repl-history");
  const history = openHistory(historyPath, HISTORY_LINES_MAX);
  const terminal = openTerminal({
    ...terminalOptions,
    input: stdin,
    output: stdout,
    history: history.lines,
    remember: history.remember,
  });
  return { lines: terminal.lines, name: "stdin", show: terminal.write, close: terminal.close };
}

function openTarget(surroundings: Surroundings, flags: OwnerCommandFlags, source: Source): Target {
  const { output, now } = surroundings;
  const show =
    source.show ??
    ((line: string): void => {
      output.write(line);
    });
  if (flags.log === undefined) return { write: show, name: "stdout" };
  const file = openLogFile(resolve(surroundings.workingDirectory, flags.log));
  if (!file.ok) {
    const text = `log ${flags.log} cannot be opened (${file.error}), using stdout`;
    show(`${stampLine(now(), text)}\n`);
    return { write: show, name: "stdout" };
  }
  const sink = createLineSink({
    fileDescriptor: file.value,
    lostNote: (lines, code) =>
      `${stampLine(now(), `log: ${lines} lines lost before this one (${code})`)}\n`,
  });
  return {
    name: flags.log,
    // Who sits at a prompt sees the answers there as well.
    write: (line) => {
      sink.write(line);
      source.show?.(line);
    },
  };
}
