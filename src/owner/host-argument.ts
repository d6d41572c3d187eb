/** A job's arguments, bound: their files open, their buffers made, their slices found. */
import { err, invariant, ok, type Result } from "../base/mod.ts";
import type { DeviceBuffer, KernelArgument, ScalarType } from "../gpu/mod.ts";
import { openRegion, openTarget, type OpenTarget } from "./host-bytes.ts";
import type { HostDie } from "./host-die.ts";
import type { HostPiece } from "./host-memory.ts";
import { rangeCause, type OpenPayload } from "./host-payload.ts";
import type { ByteSource, ByteTarget, JobArgument, JobCause } from "./job.ts";
import { fillPattern, type Filler } from "./pattern-source.ts";

/** Where an argument's bytes come from, ready to be read. */
export type BoundSource =
  /** The device writes zeros itself. */
  { readonly kind: "zero" } | { readonly kind: "fill"; readonly fill: Filler } | BoundPieces;

/** Memory of this process. `isPayload`: it is moved, and counted, with the payload. */
export type BoundPieces = {
  readonly kind: "pieces";
  readonly pieces: readonly HostPiece[];
  readonly isPayload: boolean;
};

/** Where an argument's bytes go, ready to be written. */
export type BoundTarget = { readonly kind: "file"; readonly file: OpenTarget } | BoundPieces;

/** Device memory of an argument, with where its bytes come from and go to. */
export type BoundBuffer = {
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
  /** Null: the buffer stays as it is. */
  readonly source: BoundSource | null;
  /** Null: the bytes are not wanted back. */
  readonly target: BoundTarget | null;
};

/** What the launch is given, and the memory behind it where there is any. */
export type BoundArgument = {
  readonly argument: KernelArgument;
  readonly memory: BoundBuffer | null;
};

/** What binding takes and the job must give back, whatever becomes of it. */
export type Holdings = {
  readonly die: HostDie;
  readonly payload: OpenPayload;
  /** Closes the files. */
  readonly closers: (() => void)[];
  /** Device memory that lives as long as the job. */
  readonly buffers: DeviceBuffer[];
};

/**
 * Binds all arguments. What was taken is in `holdings`, also where it fails. Throws FileError where
 * a file cannot be opened.
 */
export function bindArguments(
  holdings: Holdings,
  given: readonly JobArgument[],
): Result<readonly BoundArgument[], JobCause> {
  const bound: (BoundArgument | null)[] = [];
  for (const argument of given) {
    // An alias may be of an argument that comes after it.
    const made = argument.kind === "alias" ? ok(null) : bindArgument(holdings, argument);
    if (!made.ok) return made;
    bound.push(made.value);
  }
  const whole: BoundArgument[] = [];
  for (const [index, argument] of given.entries()) {
    const made = argument.kind === "alias" ? bindAlias(argument, bound) : ok(bound[index] ?? null);
    if (!made.ok) return made;
    invariant(made.value !== null, `argument ${index} is bound`);
    whole.push(made.value);
  }
  return ok(whole);
}

type Alias = Extract<JobArgument, { readonly kind: "alias" }>;

function bindAlias(
  { argument, offset }: Alias,
  bound: readonly (BoundArgument | null)[],
): Result<BoundArgument, JobCause> {
  const memory = bound[argument]?.memory ?? null;
  if (memory === null) {
    const message = `an alias is of argument ${argument}, which has no buffer of its own`;
    return err({ name: "argument_alias", code: 0, call: "bindArgument", message });
  }
  const { buffer, bytes } = memory;
  if (!(Number.isSafeInteger(offset) && offset >= 0 && offset <= bytes)) {
    return err(rangeCause(offset, 0, `argument ${argument}, which has ${bytes} bytes`));
  }
  return ok({ argument: { buffer, offset }, memory: null });
}

/**
 * Scalars travel as decimal text; a u64 needs a bigint, and a float may be `NaN` or `-Infinity`.
 */
const scalarValue = (type: ScalarType, text: string): number | bigint =>
  type === "f32" || type === "f64" ? Number(text) : BigInt(text);

function bindArgument(
  holdings: Holdings,
  given: Exclude<JobArgument, Alias>,
): Result<BoundArgument, JobCause> {
  switch (given.kind) {
    case "scalar": {
      const { type, value } = given;
      return ok({ argument: { type, value: scalarValue(type, value) }, memory: null });
    }
    case "bytes": {
      const pieces = holdings.payload.input(given.offset, given.bytes);
      if (!pieces.ok) return pieces;
      // A copy, since a struct of a few bytes may lie across the border of two pieces.
      const bytes = new Uint8Array(Buffer.concat(pieces.value.map((piece) => piece.bytes)));
      return ok({ argument: { bytes }, memory: null });
    }
    case "buffer":
    case "resident":
      return bindBuffer(holdings, given);
  }
}

function bindBuffer(
  holdings: Holdings,
  given: Extract<JobArgument, { readonly kind: "buffer" | "resident" }>,
): Result<BoundArgument, JobCause> {
  const { bytes } = given;
  // Files first: a job whose files are not there takes no memory.
  const source = given.source === null ? ok(null) : bindSource(holdings, given.source, bytes);
  if (!source.ok) return source;
  const wanted = given.kind === "buffer" ? given.target : null;
  const target = wanted === null ? ok(null) : bindTarget(holdings, wanted, bytes);
  if (!target.ok) return target;
  const made =
    given.kind === "resident"
      ? holdings.die.resident(given.buffer, bytes)
      : holdings.die.allocate(bytes);
  if (!made.ok) return made;
  const buffer = made.value;
  if (given.kind === "buffer") holdings.buffers.push(buffer);
  const memory = { buffer, bytes, source: source.value, target: target.value };
  return ok({ argument: { buffer }, memory });
}

const ofPayload = (
  pieces: Result<readonly HostPiece[], JobCause>,
): Result<BoundPieces, JobCause> =>
  pieces.ok ? ok({ kind: "pieces", pieces: pieces.value, isPayload: true }) : pieces;

const ofMemory = (pieces: readonly HostPiece[]): Result<BoundPieces, never> =>
  ok({ kind: "pieces", pieces, isPayload: false });

function bindSource(
  { die, payload, closers }: Holdings,
  source: ByteSource,
  bytes: number,
): Result<BoundSource, JobCause> {
  switch (source.kind) {
    case "zero":
      return ok({ kind: "zero" });
    case "pattern":
      return ok({ kind: "fill", fill: fillPattern(source.pattern) });
    case "file": {
      const { fill, close } = openRegion(source.region, bytes);
      closers.push(close);
      return ok({ kind: "fill", fill });
    }
    case "payload":
      return ofPayload(payload.input(source.offset, bytes));
    case "memory":
      return ofMemory(die.mapped.pieces(source.path, source.offset, bytes));
  }
}

function bindTarget(
  { die, payload, closers }: Holdings,
  target: ByteTarget,
  bytes: number,
): Result<BoundTarget, JobCause> {
  switch (target.kind) {
    case "file": {
      const file = openTarget(target.path);
      closers.push(file.close);
      return ok({ kind: "file", file });
    }
    case "payload":
      return ofPayload(payload.output(target.offset, bytes));
    case "memory":
      return ofMemory(die.mapped.pieces(target.path, target.offset, bytes));
  }
}
