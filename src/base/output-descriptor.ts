import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { isatty } from "node:tty";

/** Linux's number for /dev/ptmx, 5:2: opening it anew makes another terminal. */
const TERMINAL_MASTER_DEVICE = 0x502;

const FLAGS = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * A descriptor for the same output whose write(2) fails with EAGAIN instead of sleeping while a
 * pipe or terminal is full. It is opened anew through /proc, so that whoever shares the given one
 * (the shell, a child) keeps it blocking; it stays open as long as the process.
 *
 * The given descriptor itself comes back where there is no such reader (a file, /dev/null), and
 * where the system does not open it again: a socket (ENXIO), a pipe without a reader (ENXIO), a
 * terminal or pipe of another user (EACCES), no /proc (ENOENT). Writes to those may still sleep.
 */
export function openOutputDescriptor(given: number): number {
  try {
    const stats = fstatSync(given);
    const isTerminal = isatty(given) && stats.rdev !== TERMINAL_MASTER_DEVICE;
    if (!stats.isFIFO() && !isTerminal) return given;
    const opened = openSync(`/proc/self/fd/${String(given)}`, FLAGS);
    const own = fstatSync(opened);
    // A terminal's path may name another one by now.
    if (own.dev === stats.dev && own.ino === stats.ino) return opened;
    closeSync(opened);
    return given;
  } catch {
    return given;
  }
}
