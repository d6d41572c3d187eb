// cvt: between any two of the integer and floating-point types.
import { isFloatType } from "../ir/encode.ts";
import type { ConvertRounding, DataType, Instruction, Rounding } from "../ir/types.ts";
import { clamp, floatTypeOf, integerOf, rangeOf, wrap } from "./compute.ts";
import {
  convertFloat,
  decodeFloat,
  encodeFloat,
  flushFloat,
  floatOfInteger,
  roundToInteger,
  saturateFloat,
  type FloatType,
} from "./softfloat.ts";

type Convert = Pick<
  Extract<Instruction, { op: "convert" }>,
  "to" | "from" | "rounding" | "flushSubnormals" | "saturate"
>;

const DIRECTIONS: Readonly<Record<ConvertRounding, Rounding>> = {
  ...{ rn: "rn", rz: "rz", rm: "rm", rp: "rp", none: "rn" },
  ...{ rni: "rn", rzi: "rz", rmi: "rm", rpi: "rp" },
};

/** Always clamps to the range of the type; a NaN becomes 0. */
function integerOfFloat(to: DataType, from: FloatType, bits: bigint, rounding: Rounding): bigint {
  const parts = decodeFloat(from, bits);
  const range = rangeOf(to);
  if (parts.kind === "nan") return 0n;
  if (parts.kind === "infinity") return wrap(to, parts.isNegative ? range[0] : range[1]);
  return wrap(to, clamp(roundToInteger(parts, rounding), range));
}

/** Rounds to an integral value of the same type; a zero keeps the sign of what it came from. */
function integralFloat(type: FloatType, bits: bigint, rounding: Rounding): bigint {
  const parts = decodeFloat(type, bits);
  if (parts.kind !== "finite") return convertFloat(type, bits, { type, rounding });
  const integer = roundToInteger(parts, rounding);
  const significand = integer < 0n ? -integer : integer;
  return encodeFloat(type, { ...parts, significand, exponent: 0 }, rounding);
}

function floatOfFloat(operation: Convert, bits: bigint): bigint {
  const [to, from] = [floatTypeOf(operation.to), floatTypeOf(operation.from)];
  const rounding = DIRECTIONS[operation.rounding];
  // Without a modifier, a conversion to the same type copies, NaN payloads included.
  if (to === from && operation.rounding === "none") return bits;
  if (to === from) return integralFloat(to, bits, rounding);
  return convertFloat(from, bits, { type: to, rounding });
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
    : floatOfInteger({ type, rounding }, integerOf(from, bits));
  const flushed = flushSubnormals ? flushSingle(to, result) : result;
  return saturate ? saturateFloat(type, flushed) : flushed;
}
