/** Reads a payload's input: a file that may be a device file, a debugfs file or a FIFO. */
import { constants, read, readSync } from "node:fs";
import { promisify } from "node:util";

import { FileError, toFileError, type Clock } from "../base/mod.ts";
import { openHeld } from "./host-file.ts";

const readLater = promisify(read);

/** Up to here a read is over before a thread of the pool would have begun it. */
const READ_NOW_BYTES_MAX = 1024 * 1024;

/** How long a producer that answers EAGAIN may keep its input back. */
const INPUT_WAIT_MS_MAX = 1000;

/** Pause between two tries after EAGAIN. */
const INPUT_PAUSE_MS = 1;

/**
 * Fills the views, in their order, with the file's first bytes. Reads go on from where the last one
 * ended, on one descriptor and without a position: a producer may ignore positions, and then each
 * read is of what comes next. There is one read(2) a view, unless the producer gives less than
 * asked. Throws FileError; code `SHORT` where the file ends before the views are full.
 */
export async function readInput(
  path: string,
  views: readonly Uint8Array[],
  clock: Clock,
): Promise<void> {
  // A FIFO without a writer, and a producer with nothing to give, must not block for ever.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const { file, close } = openHeld(path, flags);
  try {
    let doneBytes = 0;
    const wantedBytes = views.reduce((sum, { length }) => sum + length, 0);
    for (const view of views) {
      const filledBytes = await fillView({ file, path, clock }, view);
      doneBytes += filledBytes;
      if (filledBytes === view.length) continue;
      const detail = `gave ${doneBytes} bytes; ${wantedBytes} are needed`;
      throw new FileError({ code: "SHORT", call: "read", path, detail });
    }
  } finally {
    close();
  }
}

type Input = { readonly file: number; readonly path: string; readonly clock: Clock };

/** Fills one view as far as the file has bytes; how many it had. */
async function fillView({ file, path, clock }: Input, view: Uint8Array): Promise<number> {
  let at = 0;
  let waitingSinceMs: number | null = null;
  while (at < view.length) {
    const count = await readSome({ file, path }, view, at);
    if (count === 0) break;
    if (count !== null) {
      at += count;
      waitingSinceMs = null;
      continue;
    }
    waitingSinceMs ??= clock.nowMs();
    if (clock.nowMs() - waitingSinceMs > INPUT_WAIT_MS_MAX) {
      const detail = `nothing to read for ${INPUT_WAIT_MS_MAX} ms (EAGAIN), after ${at} bytes`;
      throw new FileError({ code: "EAGAIN", call: "read", path, detail });
    }
    await clock.sleep(INPUT_PAUSE_MS);
  }
  return at;
}

/** Bytes that were read, 0 at the end of the file, null where there are none yet. */
async function readSome(
  { file, path }: Omit<Input, "clock">,
  view: Uint8Array,
  at: number,
): Promise<number | null> {
  const wantedBytes = view.length - at;
  try {
    if (wantedBytes <= READ_NOW_BYTES_MAX) return readSync(file, view, at, wantedBytes, null);
    const { bytesRead } = await readLater(file, view, at, wantedBytes, null);
    return bytesRead;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return null;
    throw toFileError("read", path, error);
  }
}
