import { constants } from "node:os";

/**
 * A file that could not be opened, read or written: which call, which file, and the system's code.
 */
export class FileError extends Error {
  override readonly name = "FileError";
  /** errno's name, e.g. `ENOENT`; `SHORT` where the file held fewer bytes than asked for. */
  readonly code: string;
  readonly call: string;
  readonly path: string;

  constructor(fields: {
    readonly code: string;
    readonly call: string;
    readonly path: string;
    readonly detail?: string;
    readonly cause?: unknown;
  }) {
    super(`${fields.call} ${fields.path}: ${fields.detail ?? fields.code}`, {
      cause: fields.cause,
    });
    this.code = fields.code;
    this.call = fields.call;
    this.path = fields.path;
  }
}

/** Runs a file system call and gives its failure the name of the call and the file. */
export function fileCall<T>(call: string, path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw toFileError(call, path, error);
  }
}

/** What a file system call threw, as a FileError. */
export function toFileError(call: string, path: string, error: unknown): FileError {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  // libuv gives errors that it does not know (ESTALE, EBADMSG) the code UNKNOWN.
  if (code === "UNKNOWN" && errno !== undefined) {
    return errnoError({ call, path, errno: -errno, cause: error });
  }
  const detail = message.replace(/^[A-Z]+: /, "").replace(/, \w+( '.*')?$/, "");
  return new FileError({ code: code ?? "UNKNOWN", call, path, detail, cause: error });
}

/** A FileError for a C library's errno, e.g. 116 for ESTALE. */
export function errnoError(fields: {
  readonly call: string;
  readonly path: string;
  readonly errno: number;
  readonly cause?: unknown;
}): FileError {
  const { call, path, errno, cause } = fields;
  const named = Object.entries(constants.errno).find(([, number]) => number === errno);
  const code = named?.[0] ?? "UNKNOWN";
  return new FileError({ code, call, path, detail: `${code} (errno ${String(errno)})`, cause });
}
