/** One argument of a launch: what it may say, and how it is written and read. */
import { err, ok, type Result } from "../base/mod.ts";
import { LAUNCH_ARGUMENT, type LaunchArgumentRecord } from "./launch-records.ts";
import {
  ARGUMENT_KIND,
  ARGUMENT_TYPE,
  ARGUMENT_TYPE_BYTES,
  argumentKind,
  argumentType,
  type ArgumentKind,
  type ArgumentType,
} from "./tables.ts";

/** Slices begin at multiples of this: the widest element. */
export const SLICE_ALIGNMENT_BYTES = 8;

/** Bytes of a struct by value: all the parameters that a kernel can have (CUDA 12.1, sm_70). */
const STRUCT_BYTES_MAX = 32_764;

/** Offsets and sizes are in bytes. `offset` lies in `in`, `outOffset` in `out`. */
export type LaunchArgument =
  /** `value` is the scalar's bits, zero-extended. */
  | { readonly kind: "scalar"; readonly type: ArgumentType; readonly value: bigint }
  /** A buffer filled from `in`; not copied back. */
  | {
      readonly kind: "in";
      readonly type: ArgumentType;
      readonly offset: number;
      readonly bytes: number;
    }
  /** A buffer of zeros that is copied to `out` after the launch. */
  | {
      readonly kind: "out";
      readonly type: ArgumentType;
      readonly outOffset: number;
      readonly bytes: number;
    }
  /** A buffer filled from `in` and copied to `out` after the launch. */
  | {
      readonly kind: "inout";
      readonly type: ArgumentType;
      readonly offset: number;
      readonly outOffset: number;
      readonly bytes: number;
    }
  /** A pointer `offset` bytes into the buffer of argument number `argument`. */
  | { readonly kind: "alias"; readonly argument: number; readonly offset: number }
  /** A struct by value, its bytes as they are in `in`. */
  | { readonly kind: "bytes"; readonly offset: number; readonly bytes: number };

export type LaunchFaultCode = "bad_descriptor" | "misaligned" | "out_of_bounds";

/** Why a descriptor cannot be launched; the code is the name of the status. */
export type LaunchFault = {
  readonly code: LaunchFaultCode;
  /** One line: which argument, what is wrong, and the mend. */
  readonly message: string;
};

/** Where slices may lie: in `in` from `descBytes` up to `inBytes`, in `out` up to `outBytes`. */
export type SliceBounds = {
  readonly descBytes: number;
  readonly inBytes: number;
  readonly outBytes: number;
};

const NOTHING = { type: 0, offset: 0n, bytes: 0n, value: 0n };

/** The record of an argument. Judges nothing; a number that fits no field is a bug. */
export function argumentRecord(argument: LaunchArgument): LaunchArgumentRecord {
  const kind = ARGUMENT_KIND[argument.kind];
  switch (argument.kind) {
    case "scalar":
      return { ...NOTHING, kind, type: ARGUMENT_TYPE[argument.type], value: argument.value };
    case "in":
    case "out":
    case "inout":
      return {
        kind,
        type: ARGUMENT_TYPE[argument.type],
        offset: argument.kind === "out" ? 0n : BigInt(argument.offset),
        bytes: BigInt(argument.bytes),
        value: argument.kind === "in" ? 0n : BigInt(argument.outOffset),
      };
    case "alias":
      return {
        ...NOTHING,
        kind,
        offset: BigInt(argument.argument),
        value: BigInt(argument.offset),
      };
    case "bytes":
      return {
        ...NOTHING,
        kind,
        offset: BigInt(argument.offset),
        bytes: BigInt(argument.bytes),
      };
  }
}

type Parsed = Result<LaunchArgument, LaunchFault>;

const fault = (code: LaunchFaultCode, message: string): Parsed => err({ code, message });

/** Reads one argument; `bytes` are those of its record. What depends on others is not judged. */
export function parseArgument(bytes: Uint8Array, bounds: SliceBounds): Parsed {
  const decoded = LAUNCH_ARGUMENT.decode(bytes);
  if (!decoded.ok) return fault("bad_descriptor", decoded.error.message);
  const kind = argumentKind(decoded.value.kind);
  if (kind === null) {
    const message = `kind ${decoded.value.kind} is none of 1 (scalar) to 6 (bytes)`;
    return fault("bad_descriptor", message);
  }
  const unused = findUnusedFault(kind, decoded.value);
  if (unused !== null) return fault("bad_descriptor", unused);
  if (kind === "alias") {
    const [argument, offset] = [decoded.value.offset, decoded.value.value];
    // Numbers past 2^53 lose their last bits here, and are out of bounds all the same.
    return ok({ kind, argument: Number(argument), offset: Number(offset) });
  }
  if (kind === "bytes") return parseStruct(decoded.value, bounds);
  const type = argumentType(decoded.value.type);
  if (type === null) {
    const message = `type ${decoded.value.type} is none of 1 (u8) to 10 (f64)`;
    return fault("bad_descriptor", message);
  }
  if (kind === "scalar") return parseScalar(type, decoded.value.value);
  return parseSlice(kind, type, { ...decoded.value, bounds });
}

/** Fields that a kind does not use: zero, so that a later version can give them meaning. */
const UNUSED: Readonly<Record<ArgumentKind, readonly (keyof LaunchArgumentRecord)[]>> = {
  scalar: ["offset", "bytes"],
  in: ["value"],
  out: ["offset"],
  inout: [],
  alias: ["type", "bytes"],
  bytes: ["type", "value"],
};

function findUnusedFault(kind: ArgumentKind, record: LaunchArgumentRecord): string | null {
  const name = UNUSED[kind].find((field) => BigInt(record[field]) !== 0n);
  return name === undefined
    ? null
    : `${name} is ${String(record[name])}, and kind ${kind} does not use it: set it to 0`;
}

function parseScalar(type: ArgumentType, value: bigint): Parsed {
  const bits = 8 * ARGUMENT_TYPE_BYTES[type];
  if (value >> BigInt(bits) !== 0n) {
    const message =
      `value 0x${value.toString(16)} has more than the ${String(bits)} bits of a ${type}: ` +
      "give its bits with zeros above them, negative numbers too";
    return fault("bad_descriptor", message);
  }
  return ok({ kind: "scalar", type, value });
}

function parseStruct(record: LaunchArgumentRecord, bounds: SliceBounds): Parsed {
  const { offset, bytes } = record;
  if (bytes === 0n || bytes > STRUCT_BYTES_MAX) {
    const message = `a struct has 1 to ${String(STRUCT_BYTES_MAX)} bytes, not ${String(bytes)}`;
    return fault("bad_descriptor", message);
  }
  const wrong = findInFault(offset, bytes, bounds);
  return wrong === null
    ? ok({ kind: "bytes", offset: Number(offset), bytes: Number(bytes) })
    : err(wrong);
}

type SliceRecord = LaunchArgumentRecord & { readonly bounds: SliceBounds };

function parseSlice(kind: "in" | "out" | "inout", type: ArgumentType, record: SliceRecord): Parsed {
  const { offset, bytes, value, bounds } = record;
  const elementBytes = ARGUMENT_TYPE_BYTES[type];
  if (bytes === 0n || bytes % BigInt(elementBytes) !== 0n) {
    const message =
      `${String(bytes)} bytes are no whole number, above 0, of ${type} elements ` +
      `(${String(elementBytes)} bytes each)`;
    return fault("bad_descriptor", message);
  }
  const wrong =
    (kind === "out" ? null : findInFault(offset, bytes, bounds)) ??
    (kind === "in" ? null : findOutFault(value, bytes, bounds));
  if (wrong !== null) return err(wrong);
  const [inOffset, outOffset] = [Number(offset), Number(value)];
  const size = Number(bytes);
  if (kind === "in") return ok({ kind, type, offset: inOffset, bytes: size });
  if (kind === "out") return ok({ kind, type, outOffset, bytes: size });
  return ok({ kind, type, offset: inOffset, outOffset, bytes: size });
}

function findInFault(offset: bigint, bytes: bigint, bounds: SliceBounds): LaunchFault | null {
  const { descBytes, inBytes } = bounds;
  if (offset % BigInt(SLICE_ALIGNMENT_BYTES) !== 0n) return misaligned("offset", offset);
  if (offset >= descBytes && offset + bytes <= inBytes) return null;
  const message =
    `bytes ${range(offset, bytes)} of in are not all inside ${String(descBytes)}..` +
    `${String(inBytes - 1)}, which is what desc_bytes and in_bytes leave`;
  return { code: "out_of_bounds", message };
}

function findOutFault(value: bigint, bytes: bigint, bounds: SliceBounds): LaunchFault | null {
  if (value % BigInt(SLICE_ALIGNMENT_BYTES) !== 0n) return misaligned("value", value);
  if (value + bytes <= bounds.outBytes) return null;
  const end = String(bounds.outBytes);
  const message = `bytes ${range(value, bytes)} of out reach past out_bytes, ${end}: enlarge it`;
  return { code: "out_of_bounds", message };
}

function misaligned(field: string, offset: bigint): LaunchFault {
  const multiple = `no multiple of ${String(SLICE_ALIGNMENT_BYTES)}`;
  return {
    code: "misaligned",
    message: `${field} ${String(offset)} is ${multiple}: pad the slices`,
  };
}

const range = (offset: bigint, bytes: bigint): string =>
  `${String(offset)}..${String(offset + bytes - 1n)}`;
