import { constants, openSync } from "node:fs";
import { err, ok, type Result } from "../base/mod.ts";

/**
 * Opens a log to append to, made where it is missing. Does not wait for the reader of a FIFO.
 * The error is the system's code, e.g. `EACCES`.
 */
export function openLogFile(path: string): Result<number, string> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  try {
    return ok(openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o640));
  } catch (error) {
    const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
    if (typeof code !== "string") throw error;
    return err(code);
  }
}
