/** The first bytes of a file that may be a kernel module's. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { fileCall, FileError } from "../base/mod.ts";

/** Room offered to each read(2): kernel modules may refuse a buffer smaller than a page. */
const READ_BYTES = 4096;

/** How long a producer that answers EAGAIN may keep its bytes back. */
const WAIT_MS_MAX = 1000;

/** Pause between two tries after EAGAIN. */
const PAUSE_MS = 1;

/** Exactly the first `bytes` bytes. Throws FileError; code `SHORT` where there are fewer. */
export async function readPrefix(path: string, bytes: number): Promise<Uint8Array> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const file = fileCall("open", path, () => openSync(path, flags));
  try {
    const buffer = Buffer.alloc(bytes + READ_BYTES);
    let count = 0;
    let waitedMs = 0;
    while (count < bytes) {
      const got = readSome(file, path, buffer.subarray(count));
      if (got === 0) {
        const detail = `gave ${count} bytes; the descriptor alone has ${bytes}`;
        throw new FileError({ code: "SHORT", call: "read", path, detail });
      }
      if (got !== null) {
        count += got;
        continue;
      }
      if (waitedMs >= WAIT_MS_MAX) {
        const detail = `nothing to read for ${WAIT_MS_MAX} ms (EAGAIN), after ${count} bytes`;
        throw new FileError({ code: "EAGAIN", call: "read", path, detail });
      }
      await sleep(PAUSE_MS);
      waitedMs += PAUSE_MS;
    }
    return buffer.subarray(0, bytes);
  } finally {
    closeSync(file);
  }
}

/** Bytes that were read, 0 at the end of the file, null where there are none yet. */
function readSome(file: number, path: string, into: Buffer): number | null {
  try {
    return fileCall("read", path, () => readSync(file, into, 0, into.length, null));
  } catch (error) {
    if (error instanceof FileError && error.code === "EAGAIN") return null;
    throw error;
  }
}
