export { leavingLine } from "./commands.ts";
export { openFifo, type FifoError, type FifoErrorCode } from "./fifo.ts";
export { openHistory, type History } from "./history.ts";
export { createLineReader, LINE_BYTES_MAX, linesOf, type InputLine } from "./line-reader.ts";
export { openLogFile } from "./log-file.ts";
export { printable } from "./printable.ts";
export { executeLine, runRepl, type ReplOptions } from "./repl.ts";
export { HISTORY_LINES_MAX, openTerminal, type Terminal } from "./terminal.ts";
