// cvt: between any two of the integer and floating-point types.
import { isFloatType, widthOf } from "../ir/encode.ts";
import type { ConvertRounding, DataType, Instruction, Rounding } from "../ir/types.ts";
import { clamp, floatTypeOf, integerOf, rangeOf, wrap } from "./compute.ts";
import {
  convertFloat,
  decodeFloat,
  encodeFloat,
  flushFloat,
  floatOfInteger,
  roundToInteger,
  plain,
  saturateFloat,
  type FloatType,
} from "./softfloat.ts";

type Convert = Pick<
  Extract<Instruction, { op: "convert" }>,
  "to" | "from" | "rounding" | "flushSubnormals" | "saturate"
>;

const DIRECTIONS: Readonly<Record<ConvertRounding, Rounding>> = {
  rn: "rn",
  rz: "rz",
  rm: "rm",
  rp: "rp",
  none: "rn",
  rni: "rn",
  rzi: "rz",
  rmi: "rm",
  rpi: "rp",
};

/**
 * What a NaN becomes. PTX says 0; an H200 (and CUDA's own __double2int_rn) gives the most negative
 * number, sign bit alone, from f64 and to 64 bits, and 0 otherwise. Hardware is followed.
 */
function integerOfNan(to: DataType, from: FloatType): bigint {
  const width = widthOf(to);
  return from === "f64" || width === 64 ? 1n << BigInt(width - 1) : 0n;
}

/** Always clamps to the range of the type. */
function integerOfFloat(to: DataType, from: FloatType, bits: bigint, rounding: Rounding): bigint {
  const parts = decodeFloat(from, bits);
  const range = rangeOf(to);
  if (parts.kind === "nan") return integerOfNan(to, from);
  if (parts.kind === "infinity") return wrap(to, parts.isNegative ? range[0] : range[1]);
  return wrap(to, clamp(roundToInteger(parts, rounding), range));
}

/** Rounds to an integral value of the same type; a zero keeps the sign of what it came from. */
function integralFloat(type: FloatType, bits: bigint, rounding: Rounding): bigint {
  const parts = decodeFloat(type, bits);
  if (parts.kind !== "finite") return convertFloat(type, bits, plain(type, rounding));
  const integer = roundToInteger(parts, rounding);
  const significand = integer < 0n ? -integer : integer;
  return encodeFloat(plain(type, rounding), { ...parts, significand, exponent: 0 });
}

function floatOfFloat(operation: Convert, bits: bigint): bigint {
  const [to, from] = [floatTypeOf(operation.to), floatTypeOf(operation.from)];
  const { rounding, flushSubnormals, saturate } = operation;
  const direction = DIRECTIONS[rounding];
  // Without any modifier, a conversion to the same type copies, NaN payloads included.
  if (to === from && rounding === "none" && !flushSubnormals && !saturate) return bits;
  if (to === from && rounding !== "none") return integralFloat(to, bits, direction);
  const flush = flushSubnormals && to === "f32";
  return convertFloat(from, bits, { type: to, rounding: direction, flushSubnormals: flush });
}

/** `.ftz` touches single precision only. */
const flushSingle = (type: DataType, bits: bigint): bigint =>
  type === "f32" ? flushFloat("f32", bits) : bits;

/** The bit pattern, as wide as `to`, that the source's bit pattern becomes. */
export function computeConversion(operation: Convert, source: bigint): bigint {
  const { to, from, flushSubnormals, saturate } = operation;
  const bits = flushSubnormals ? flushSingle(from, source) : source;
  const rounding = DIRECTIONS[operation.rounding];
  if (!isFloatType(to)) {
    if (isFloatType(from)) return integerOfFloat(to, floatTypeOf(from), bits, rounding);
    const value = integerOf(from, bits);
    return wrap(to, saturate ? clamp(value, rangeOf(to)) : value);
  }
  const type = floatTypeOf(to);
  const result = isFloatType(from)
    ? floatOfFloat(operation, bits)
    : floatOfInteger(plain(type, rounding), integerOf(from, bits));
  return saturate ? saturateFloat(type, result) : result;
}
