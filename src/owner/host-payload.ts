/**
 * A job's payload in the die host: its input, read whole before anything runs, and its output,
 * gathered whole before any of it is shown. Both lie in page-locked memory, so that the device
 * copies straight from and to it.
 */
import { err, ok, type Clock, type Result } from "../base/mod.ts";
import type { HostDie } from "./host-die.ts";
import { refusalCause } from "./host-failure.ts";
import { readInput } from "./host-input.ts";
import type { HostPiece, PinnedArena } from "./host-memory.ts";
import { openOutput, type OpenOutput } from "./host-output.ts";
import type { JobCause, JobPayload } from "./job.ts";

/** Two arrays of 2^28 elements of 4 bytes, as large as a record's operands get. */
const INPUT_BYTES_MAX = 2 ** 31;

/** What one view holds, since an output goes out in one write. */
const OUTPUT_BYTES_MAX = 2 ** 30;

export type OpenPayload = {
  /** The input's bytes from `offset` on; refused where they are not all in it. */
  readonly input: (offset: number, bytes: number) => Result<readonly HostPiece[], JobCause>;
  /** Where an argument's output goes. What nobody asks for is zero. */
  readonly output: (offset: number, bytes: number) => Result<readonly HostPiece[], JobCause>;
  /** Writes the output and shows it; nothing where there is none. Throws FileError. */
  readonly commit: () => Promise<void>;
  /** Closes everything, and leaves no output where it was not committed. */
  readonly discard: () => void;
  readonly bytesIn: number;
  readonly bytesOut: number;
};

const nothing = (): void => undefined;

/** The payload of a job that has none. */
const NO_PAYLOAD: JobPayload = { input: null, output: null };

/**
 * Opens the output, then reads the input. A file that cannot be had throws FileError, and nothing
 * is left open. A side of no bytes is not touched.
 */
export async function openPayload(
  die: HostDie,
  payload: JobPayload = NO_PAYLOAD,
  clock: Clock,
): Promise<Result<OpenPayload, JobCause>> {
  const bytesIn = payload.input?.bytes ?? 0;
  const bytesOut = payload.output?.bytes ?? 0;
  const room = reserve(die.inputArena, "input", bytesIn, INPUT_BYTES_MAX);
  if (!room.ok) return room;
  const outputRoom = reserve(die.outputArena, "output", bytesOut, OUTPUT_BYTES_MAX);
  if (!outputRoom.ok) return outputRoom;
  const output =
    payload.output === null || bytesOut === 0 ? null : openOutput(payload.output, clock);
  try {
    if (payload.input !== null && bytesIn > 0) {
      const views = die.inputArena.pieces(0, bytesIn).map(({ bytes }) => bytes);
      await readInput(payload.input.path, views, clock);
    }
  } catch (error) {
    output?.discard();
    throw error;
  }
  return ok({ bytesIn, bytesOut, ...sliced(die, bytesIn), ...gathered(die, bytesOut, output) });
}

function reserve(
  arena: PinnedArena,
  side: string,
  bytes: number,
  bytesMax: number,
): Result<void, JobCause> {
  if (bytes > bytesMax) {
    const message = `a payload's ${side} of ${bytes} bytes; at most ${bytesMax}`;
    return err({ name: "payload_too_large", code: 0, call: "payload", message });
  }
  const reserved = arena.reserve(bytes);
  return reserved.ok ? reserved : err(refusalCause(reserved.error));
}

/** The cause for a slice that does not lie in what it is a slice of. */
export const rangeCause = (offset: number, bytes: number, what: string): JobCause => ({
  name: "argument_range",
  code: 0,
  call: "bindArgument",
  message: `${bytes} bytes at ${offset} do not lie in ${what}`,
});

const isInside = (offset: number, bytes: number, size: number): boolean =>
  Number.isSafeInteger(offset) && offset >= 0 && offset + bytes <= size;

function sliced(die: HostDie, bytesIn: number): Pick<OpenPayload, "input"> {
  return {
    input: (offset, bytes) =>
      isInside(offset, bytes, bytesIn)
        ? ok(die.inputArena.pieces(offset, bytes))
        : err(rangeCause(offset, bytes, `a payload input of ${bytesIn} bytes`)),
  };
}

type Stretch = { readonly start: number; readonly end: number };

function gathered(
  die: HostDie,
  bytesOut: number,
  output: OpenOutput | null,
): Pick<OpenPayload, "output" | "commit" | "discard"> {
  const taken: Stretch[] = [];
  return {
    output: (offset, bytes) => {
      if (!isInside(offset, bytes, bytesOut)) {
        return err(rangeCause(offset, bytes, `a payload output of ${bytesOut} bytes`));
      }
      taken.push({ start: offset, end: offset + bytes });
      return ok(die.outputArena.pieces(offset, bytes));
    },
    commit: async () => {
      const [whole] = die.outputArena.pieces(0, bytesOut);
      if (output === null || whole === undefined) return;
      for (const { start, end } of gapsOf(taken, bytesOut)) whole.bytes.fill(0, start, end);
      await output.commit(whole.bytes);
    },
    discard: output?.discard ?? nothing,
  };
}

/** What none of the stretches covers, from 0 to `size`. */
function gapsOf(stretches: readonly Stretch[], size: number): readonly Stretch[] {
  const gaps: Stretch[] = [];
  let covered = 0;
  for (const { start, end } of [...stretches].sort((a, b) => a.start - b.start)) {
    if (start > covered) gaps.push({ start: covered, end: start });
    covered = Math.max(covered, end);
  }
  if (covered < size) gaps.push({ start: covered, end: size });
  return gaps;
}
