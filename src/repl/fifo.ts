/** Commands from a FIFO. */
import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { Socket } from "node:net";
import { err, ok, type Result } from "../base/mod.ts";

export type FifoErrorCode = "missing" | "not_a_fifo" | "not_permitted" | "unreadable";

/** Why there is nothing to read; `message` names the mend. */
export type FifoError = { readonly code: FifoErrorCode; readonly message: string };

/**
 * Opens a FIFO for reading and writing, so that it never ends: its writers come and go. It is not
 * made here, since whoever makes it decides who may write, and so command the owner.
 */
export function openFifo(path: string): Result<AsyncIterable<Uint8Array>, FifoError> {
  try {
    // Looked at before it is opened, as opening alone does something to a device; and once more
    // after, since the name may by then be another file's.
    if (!statSync(path).isFIFO()) return notFifo(path);
    const fileDescriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    if (!fstatSync(fileDescriptor).isFIFO()) {
      closeSync(fileDescriptor);
      return notFifo(path);
    }
    return ok(new Socket({ fd: fileDescriptor, readable: true, writable: false }));
  } catch (error) {
    return err(describe(path, error));
  }
}

function notFifo(path: string): Result<never, FifoError> {
  const mend = "name one made by mkfifo, or leave the option out to read stdin";
  return err({ code: "not_a_fifo", message: `${path} is no FIFO; ${mend}` });
}

function describe(path: string, error: unknown): FifoError {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "ENOENT":
      return { code: "missing", message: `${path} does not exist; make it first: mkfifo ${path}` };
    case "EACCES":
    case "EPERM": {
      const mend = "the owner opens it for reading and writing, so both must be allowed";
      return { code: "not_permitted", message: `${path} may not be opened; ${mend}` };
    }
    default:
      if (typeof code !== "string") throw error;
      return { code: "unreadable", message: `${path} cannot be opened (${code})` };
  }
}
