/** Commands typed at a terminal: line editing, history, Tab, and log lines that respect the prompt. */
import {
  clearScreenDown,
  createInterface,
  cursorTo,
  moveCursor,
  type Interface,
} from "node:readline";
import type { Readable, Writable } from "node:stream";
import { completeLine } from "./complete-line.ts";
import { createLineReader, type InputLine } from "./line-reader.ts";

/** Lines of history that are kept. */
export const HISTORY_LINES_MAX = 1000;

const PROMPT = "holdfast> ";

export type TerminalOptions = {
  readonly input: Readable;
  readonly output: Writable;
  /** Earlier lines, newest first. */
  readonly history: readonly string[];
  /** Takes each new line for the next time. */
  readonly remember: (line: string) => void;
  /** The dies that Tab offers. */
  readonly dies: () => Promise<readonly number[]>;
};

export type Terminal = {
  /** Ends with Ctrl-D, or Ctrl-C on an empty line. */
  readonly lines: AsyncIterable<InputLine>;
  /** Writes a line, its end included, above what is being typed. */
  readonly write: (line: string) => void;
  /** Gives the terminal back as it was. */
  readonly close: () => void;
};

export function openTerminal(options: TerminalOptions): Terminal {
  const { output } = options;
  const readline = createEditor(options);
  let isPrompting = false;
  let isClosed = false;
  readline.on("close", () => {
    isClosed = true;
  });

  const write = (line: string): void => {
    if (!isPrompting || isClosed) {
      output.write(line);
      return;
    }
    moveCursor(output, 0, -readline.getCursorPos().rows);
    cursorTo(output, 0);
    clearScreenDown(output);
    output.write(line);
    readline.prompt(true);
  };

  async function* lines(): AsyncGenerator<InputLine> {
    const typed = readline[Symbol.asyncIterator]();
    for (;;) {
      isPrompting = true;
      if (!isClosed) readline.prompt(true);
      const next = await typed.next();
      isPrompting = false;
      if (next.done === true) return;
      // The same rules for typed lines as for those that a program writes.
      yield* createLineReader().push(Buffer.from(`${next.value}\n`));
    }
  }

  return {
    lines: lines(),
    write,
    close: () => {
      readline.close();
    },
  };
}

function createEditor(options: TerminalOptions): Interface {
  const { input, output, dies, history, remember } = options;
  const editor = createInterface({
    ...{ input, output, terminal: true, prompt: PROMPT },
    ...{ history: [...history], historySize: HISTORY_LINES_MAX, removeHistoryDuplicates: true },
    completer: (line: string, answer: (error: null, offer: [string[], string]) => void) => {
      const offer = (known: readonly number[]): void => {
        answer(null, completeLine(line, known));
      };
      // Without the owner's answer every other word can still be completed.
      dies().then(offer, () => {
        offer([]);
      });
    },
  });
  editor.on("line", (line) => {
    if (line.trim() !== "") remember(line);
  });
  editor.on("SIGINT", () => {
    if (editor.line === "") {
      editor.close();
      return;
    }
    // To the end of the line, then erased back to its start.
    editor.write(null, { ctrl: true, name: "e" });
    editor.write(null, { ctrl: true, name: "u" });
  });
  return editor;
}
