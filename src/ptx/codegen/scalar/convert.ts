/** cvt between every two types. */
import type { ConvertRounding, DataType, Operation, Rounding } from "../../ir/types.ts";
import { isCopy, valueTypeOf } from "../analysis/storage.ts";
import { ROUNDING_MODE } from "../helpers/rounding.ts";
import { isSigned, widthOf, type Emitter } from "./emitter.ts";
import {
  demote,
  flushOperand,
  flushResult,
  readFloat,
  saturate,
  settleNan64,
} from "./float-common.ts";
import { clampSigned64 } from "./integers.ts";

type Convert = Extract<Operation, { op: "convert" }>;

const isFloat = (type: DataType): boolean => type.startsWith("f");

export function emitConvert(emitter: Emitter, operation: Convert): void {
  const { to, from } = operation;
  if (isFloat(from)) {
    if (isFloat(to)) floatToFloat(emitter, operation);
    else floatToInteger(emitter, operation);
  } else if (isFloat(to)) integerToFloat(emitter, operation);
  else integerToInteger(emitter, operation);
}

/** The direction in which a conversion rounds to a float type. */
function floatRounding(rounding: ConvertRounding): Rounding {
  return rounding === "rz" || rounding === "rm" || rounding === "rp" ? rounding : "rn";
}

const TO_INTEGRAL = { rni: "nearest", rzi: "trunc", rmi: "floor", rpi: "ceil" } as const;

/** Rounds the float on the stack to an integral value, if the rounding says so. */
function roundToIntegral(emitter: Emitter, type: "f32" | "f64", rounding: ConvertRounding): void {
  if (rounding === "rni" || rounding === "rzi" || rounding === "rmi" || rounding === "rpi") {
    emitter.code.op(`${type}.${TO_INTEGRAL[rounding]}`);
  }
}

function floatToFloat(emitter: Emitter, operation: Convert): void {
  if (isCopy(operation)) {
    emitter.read(operation.source, operation.from);
    emitter.write(operation.destination, operation.to);
    return;
  }
  if (operation.to === "f16") toHalf(emitter, operation);
  else if (operation.to === "f32") toFloat32(emitter, operation);
  else toFloat64(emitter, operation);
}

function toFloat32(emitter: Emitter, operation: Convert): void {
  const { code } = emitter;
  const { from, rounding, flushSubnormals: flush, source, destination } = operation;
  if (from === "f64") {
    const direction = floatRounding(rounding);
    emitter.read(source, "f64");
    const exact = emitter.temporary("f64");
    code.tee(exact);
    demote(emitter, direction);
    if (flush) flushResult(emitter, direction, () => code.get(exact));
  } else if (from === "f16") {
    emitter.read(source, "f16");
    emitter.call("halfToF64").op("f32.demote_f64");
  } else {
    readFloat(emitter, source, "f32", flush);
    roundToIntegral(emitter, "f32", rounding);
  }
  if (operation.saturate) saturate(emitter, "f32");
  emitter.write(destination, "f32", from !== "f64");
}

function toFloat64(emitter: Emitter, operation: Convert): void {
  const { code } = emitter;
  const { from, rounding, flushSubnormals: flush, source, destination } = operation;
  if (from === "f64") {
    emitter.read(source, "f64");
    const operand = emitter.spill("f64");
    code.get(operand);
    roundToIntegral(emitter, "f64", rounding);
    settleNan64(emitter, [operand]);
  } else if (from === "f16") {
    emitter.read(source, "f16");
    emitter.call("halfToF64");
  } else {
    // A NaN keeps its payload, so that it must be CUDA's before it is widened.
    emitter.read(source, "f32");
    if (flush) flushOperand(emitter);
    code.op("f64.promote_f32");
  }
  if (operation.saturate) saturate(emitter, "f64");
  emitter.write(destination, "f64");
}

/** f16 has one NaN, 0x7fff, unless it comes from f64, whose payload it keeps. */
const HALF_NAN = 0x7fff;

function toHalf(emitter: Emitter, operation: Convert): void {
  const { code } = emitter;
  const { from, rounding, flushSubnormals: flush, source, destination } = operation;
  if (from === "f16") {
    emitter.read(source, "f16");
    emitter.call("halfToF64");
    roundToIntegral(emitter, "f64", rounding);
  } else if (from === "f32") readFloat(emitter, source, "f32", flush).op("f64.promote_f32");
  else emitter.read(source, "f64");
  if (operation.saturate) saturate(emitter, "f64");
  const value = emitter.temporary("f64");
  code.tee(value).i32(ROUNDING_MODE[floatRounding(rounding)]);
  emitter.call("halfFromF64");
  if (from !== "f64") code.i32(HALF_NAN).get(value).get(value).ops("f64.eq", "select");
  emitter.write(destination, "f16");
}

function integerToFloat(emitter: Emitter, operation: Convert): void {
  const { code } = emitter;
  const { to, from, source, destination } = operation;
  const rounding = floatRounding(operation.rounding);
  const integer = valueTypeOf(from) === "i64" ? "i64" : "i32";
  const sign = isSigned(from) ? "s" : "u";
  emitter.read(source, from);
  if (to === "f32" && rounding === "rn") code.op(`f32.convert_${integer}_${sign}`);
  else if (integer === "i32") code.op(`f64.convert_i32_${sign}`);
  else if (to === "f64" && rounding === "rn") code.op(`f64.convert_i64_${sign}`);
  else {
    code.i32(ROUNDING_MODE[to === "f64" ? rounding : "odd"]);
    emitter.call(sign === "s" ? "fromSigned64" : "fromUnsigned64");
  }
  if (to === "f32" && rounding !== "rn") demote(emitter, rounding);
  if (operation.saturate) saturate(emitter, to === "f32" ? "f32" : "f64");
  if (to === "f16") {
    code.i32(ROUNDING_MODE[rounding]);
    emitter.call("halfFromF64");
  }
  emitter.write(destination, to, true);
}

/** The least and the most value of an integer type. */
function rangeOf(type: DataType): readonly [bigint, bigint] {
  const width = BigInt(widthOf(type));
  return isSigned(type)
    ? [-(1n << (width - 1n)), (1n << (width - 1n)) - 1n]
    : [0n, (1n << width) - 1n];
}

/**
 * Out of range gives the nearest integer; a NaN gives 0, or 1 in the top bit where 64 is involved.
 */
function floatToInteger(emitter: Emitter, operation: Convert): void {
  const { code } = emitter;
  const { to, from, rounding, source, destination } = operation;
  const float = from === "f32" ? "f32" : "f64";
  if (from === "f16") {
    emitter.read(source, "f16");
    emitter.call("halfToF64");
  } else readFloat(emitter, source, float, operation.flushSubnormals);
  const value = emitter.spill(float);
  code.get(value);
  if (rounding !== "rzi") roundToIntegral(emitter, float, rounding);
  const integer = valueTypeOf(to) === "i64" ? "i64" : "i32";
  code.op(`${integer}.trunc_sat_${float}_${isSigned(to) ? "s" : "u"}`);
  if (widthOf(to) < 32) clampNarrow(emitter, to);
  if (from === "f64" || widthOf(to) === 64) {
    const bits = 1n << BigInt(widthOf(to) - 1);
    const isNegative = isSigned(to);
    if (integer === "i64") code.i64(BigInt.asIntN(64, bits));
    else code.i32(Number(isNegative ? -bits : bits));
    code.get(value).get(value).ops(`${float}.eq`, "select");
  }
  emitter.write(destination, to);
}

/** Clamps the i32 on the stack to the range of a narrow type; it is unsigned where the type is. */
function clampNarrow(emitter: Emitter, type: DataType): void {
  const { code } = emitter;
  const [least, most] = rangeOf(type).map(Number);
  const value = emitter.temporary("i32");
  const sign = isSigned(type) ? "s" : "u";
  code
    .tee(value)
    .i32(most ?? 0)
    .get(value)
    .i32(most ?? 0)
    .ops(`i32.lt_${sign}`, "select");
  if (sign === "u") return;
  code
    .tee(value)
    .i32(least ?? 0)
    .get(value)
    .i32(least ?? 0)
    .ops("i32.gt_s", "select");
}

function integerToInteger(emitter: Emitter, operation: Convert): void {
  const { code } = emitter;
  const { to, from, source, destination } = operation;
  emitter.read(source, from);
  let held = valueTypeOf(from);
  if (operation.saturate || (held === "i32" && valueTypeOf(to) === "i64")) {
    if (held === "i32") code.op(isSigned(from) ? "i64.extend_i32_s" : "i64.extend_i32_u");
    held = "i64";
  }
  if (operation.saturate) clamp64(emitter, from, to);
  if (held === "i64" && valueTypeOf(to) === "i32") code.op("i32.wrap_i64");
  if (widthOf(to) < 32) emitter.extend(to);
  emitter.write(destination, to);
}

/** Clamps an i64 that holds a value of `from` to the range of `to`. */
function clamp64(emitter: Emitter, from: DataType, to: DataType): void {
  const { code } = emitter;
  const [least, most] = rangeOf(to);
  const signedMost = (1n << 63n) - 1n;
  if (isSigned(from)) {
    clampSigned64(emitter, least, most > signedMost ? signedMost : most);
    return;
  }
  const value = emitter.temporary("i64");
  code.tee(value).i64(most).get(value).i64(most).ops("i64.lt_u", "select");
}
