/** A file that could not be opened, read or written: which call, which file, and the system's code. */
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
    const { code, message } = error as NodeJS.ErrnoException;
    // libuv gives errors that it does not know (ESTALE, EBADMSG) the code UNKNOWN.
    const detail = message.replace(/^[A-Z]+: /, "").replace(/, \w+( '.*')?$/, "");
    throw new FileError({ code: code ?? "UNKNOWN", call, path, detail, cause: error });
  }
}
