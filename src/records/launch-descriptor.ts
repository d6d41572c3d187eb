/**
 * The launch descriptor of op 256, as docs/PROTOCOL.md has it: head, arguments, name of the entry.
 * It lies at the start of `in`; what its arguments refer to lies behind it.
 */
import { err, invariant, ok, type Result } from "../base/mod.ts";
import {
  argumentRecord,
  parseArgument,
  SLICE_ALIGNMENT_BYTES,
  type LaunchArgument,
  type LaunchFault,
  type SliceBounds,
} from "./launch-argument.ts";
import { LAUNCH_ARGUMENT, LAUNCH_DESCRIPTOR, type LaunchHeader } from "./launch-records.ts";

/** Arguments of one kernel: more than any that is known has, few enough to check at once. */
const LAUNCH_ARGUMENTS_MAX = 256;

/** Bytes of an entry's name; mangled C++ names run to some hundreds. */
const ENTRY_NAME_BYTES_MAX = 1024;

/** Bytes of a descriptor, so that a hostile one costs little to read. */
export const LAUNCH_DESCRIPTOR_BYTES_MAX = 64 * 1024;

/** Which kernel is launched, and with what. */
export type LaunchDescriptor = {
  /** Lower-case hex of the SHA-256 of the module's PTX text. */
  readonly moduleSha256: string;
  readonly entry: string;
  readonly arguments: readonly LaunchArgument[];
};

/** The sizes that the job record states; slices must lie within them. */
export type LaunchExtent = { readonly inBytes: number; readonly outBytes: number };

/** PTX's own rule for a name (PTX ISA, "Identifiers"). */
const ENTRY_NAME = /^(?:[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)$/;

/**
 * Bytes of the descriptor of a launch, rounded up so that a slice may begin right behind it: what
 * `desc_bytes` says, and the first offset that a slice can have.
 */
export const launchDescriptorBytes = (argumentCount: number, entry: string): number =>
  roundUp(nameOffset(argumentCount) + new TextEncoder().encode(entry).length);

/** Writes a descriptor of `launchDescriptorBytes` bytes. Offsets are judged by decode alone. */
export function encodeLaunchDescriptor(launch: LaunchDescriptor): Uint8Array {
  const { moduleSha256, entry } = launch;
  invariant(/^[0-9a-f]{64}$/.test(moduleSha256), "a SHA-256 is 64 lower-case hex digits");
  const argumentCount = launch.arguments.length;
  const name = new TextEncoder().encode(entry);
  const entryOffset = nameOffset(argumentCount);
  const bytes = new Uint8Array(roundUp(entryOffset + name.length));
  const head = { argumentCount, entryOffset, entryBytes: name.length };
  const sha256 = Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(moduleSha256.slice(2 * index, 2 * index + 2), 16),
  );
  bytes.set(LAUNCH_DESCRIPTOR.encode({ ...head, moduleSha256: sha256 }));
  launch.arguments.forEach((argument, index) => {
    bytes.set(LAUNCH_ARGUMENT.encode(argumentRecord(argument)), argumentOffset(index));
  });
  bytes.set(name, entryOffset);
  return bytes;
}

/**
 * Reads a descriptor and judges all of it; `bytes` are the job's `desc_bytes` first bytes of `in`.
 * Never throws, whatever the bytes are.
 */
export function decodeLaunchDescriptor(
  bytes: Uint8Array,
  extent: LaunchExtent,
): Result<LaunchDescriptor, LaunchFault> {
  if (bytes.length > LAUNCH_DESCRIPTOR_BYTES_MAX) {
    const most = String(LAUNCH_DESCRIPTOR_BYTES_MAX);
    return bad(`desc_bytes is ${String(bytes.length)}: a descriptor has at most ${most}`);
  }
  const header = LAUNCH_DESCRIPTOR.decode(bytes);
  if (!header.ok) return bad(header.error.message);
  const entry = readEntry(bytes, header.value);
  if (!entry.ok) return entry;
  const bounds = { descBytes: bytes.length, ...extent };
  const found = readArguments(bytes, header.value.argumentCount, bounds);
  if (!found.ok) return found;
  const moduleSha256 = Array.from(header.value.moduleSha256, hexByte).join("");
  return ok({ moduleSha256, entry: entry.value, arguments: found.value });
}

function readEntry(bytes: Uint8Array, header: LaunchHeader): Result<string, LaunchFault> {
  const { argumentCount, entryOffset, entryBytes } = header;
  if (argumentCount > LAUNCH_ARGUMENTS_MAX) {
    const most = String(LAUNCH_ARGUMENTS_MAX);
    return bad(`argument_count is ${String(argumentCount)}: a launch has at most ${most}`);
  }
  if (entryBytes === 0 || entryBytes > ENTRY_NAME_BYTES_MAX) {
    const most = String(ENTRY_NAME_BYTES_MAX);
    return bad(`entry_bytes is ${String(entryBytes)}: a name has 1 to ${most}`);
  }
  const [first, end] = [nameOffset(argumentCount), entryOffset + entryBytes];
  if (entryOffset < first || end > bytes.length) {
    return bad(
      `the entry's name at ${String(entryOffset)}..${String(end - 1)} is not inside ` +
        `${String(first)}..${String(bytes.length - 1)}, between the last argument and desc_bytes`,
    );
  }
  const entry = String.fromCharCode(...bytes.subarray(entryOffset, end));
  if (ENTRY_NAME.test(entry)) return ok(entry);
  return bad(
    "the entry's name is no PTX identifier (letters, digits, _ and $; no NUL at its end): " +
      "give it as it stands after .entry",
  );
}

function readArguments(
  bytes: Uint8Array,
  count: number,
  bounds: SliceBounds,
): Result<LaunchArgument[], LaunchFault> {
  const found: LaunchArgument[] = [];
  for (let index = 0; index < count; index++) {
    const record = bytes.subarray(argumentOffset(index), argumentOffset(index + 1));
    const argument = parseArgument(record, bounds);
    if (!argument.ok) return err(inArgument(index, argument.error));
    found.push(argument.value);
  }
  const wrong = findAliasFault(found) ?? findOverlapFault(found);
  return wrong === null ? ok(found) : err(wrong);
}

function findAliasFault(found: readonly LaunchArgument[]): LaunchFault | null {
  for (const [index, argument] of found.entries()) {
    if (argument.kind !== "alias") continue;
    const target = found[argument.argument];
    if (target?.kind !== "in" && target?.kind !== "out" && target?.kind !== "inout") {
      const message =
        `an alias names an in, out or inout argument by its index from 0; ` +
        `${String(argument.argument)} is ${target?.kind ?? "no argument"}`;
      return inArgument(index, { code: "bad_descriptor", message });
    }
    // One past the end is a place too: kernels are given ends as well as beginnings.
    if (argument.offset > target.bytes) {
      const message =
        `offset ${String(argument.offset)} is beyond the ${String(target.bytes)} bytes ` +
        `of argument ${String(argument.argument)}`;
      return inArgument(index, { code: "out_of_bounds", message });
    }
  }
  return null;
}

function findOverlapFault(found: readonly LaunchArgument[]): LaunchFault | null {
  const slices = [...found.entries()].flatMap(([index, argument]) =>
    argument.kind === "out" || argument.kind === "inout"
      ? [{ index, begin: argument.outOffset, end: argument.outOffset + argument.bytes }]
      : [],
  );
  slices.sort((one, other) => one.begin - other.begin);
  for (const [place, slice] of slices.entries()) {
    const next = slices[place + 1];
    if (next === undefined || next.begin >= slice.end) continue;
    const message =
      `its slice of out, from ${String(next.begin)} on, overlaps that of argument ` +
      `${String(slice.index)}, which ends at ${String(slice.end - 1)}: give each its own`;
    return inArgument(next.index, { code: "out_of_bounds", message });
  }
  return null;
}

const inArgument = (index: number, { code, message }: LaunchFault): LaunchFault => ({
  code,
  message: `argument ${String(index)}: ${message}`,
});

const bad = (message: string): Result<never, LaunchFault> =>
  err({ code: "bad_descriptor", message });

const hexByte = (byte: number): string => byte.toString(16).padStart(2, "0");

const argumentOffset = (index: number): number =>
  LAUNCH_DESCRIPTOR.bytes + index * LAUNCH_ARGUMENT.bytes;

const nameOffset = argumentOffset;

const roundUp = (bytes: number): number =>
  Math.ceil(bytes / SLICE_ALIGNMENT_BYTES) * SLICE_ALIGNMENT_BYTES;
