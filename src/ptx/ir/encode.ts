// Constants as the bit patterns that the IR carries.
import type { Literal } from "../syntax/ast.ts";
import type { DataType } from "./types.ts";
import { DATA_TYPE_BYTES } from "./types.ts";

const view = new DataView(new ArrayBuffer(8));

/** The bit pattern of a number as f32, rounded to nearest. */
export function bitsOfSingle(value: number): bigint {
  view.setFloat32(0, value);
  return BigInt(view.getUint32(0));
}

/** The bit pattern of a number as f64. */
export function bitsOfDouble(value: number): bigint {
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

/** The number that an f32's bit pattern stands for. */
export function singleOfBits(bits: bigint): number {
  view.setUint32(0, Number(bits));
  return view.getFloat32(0);
}

/** The number that an f64's bit pattern stands for. */
export function doubleOfBits(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

export const isFloatType = (type: DataType): boolean => type.startsWith("f");
export const isSignedType = (type: DataType): boolean => type.startsWith("s");
export const isBitsType = (type: DataType): boolean => type.startsWith("b");

/** Bits of a value of the type; 1 for a predicate. */
export const widthOf = (type: DataType): number => DATA_TYPE_BYTES[type] * 8 || 1;

/**
 * The bit pattern of a constant read as `type`, or null where PTX does not allow it: an integer as
 * a floating-point value, or the reverse. A `b` type takes both, the float at its own width.
 */
export function encodeLiteral(literal: Literal, type: DataType): bigint | null {
  if (literal.kind === "integer") {
    return isFloatType(type) ? null : BigInt.asUintN(widthOf(type), literal.bits);
  }
  const value = literal.width === 32 ? singleOfBits(literal.bits) : doubleOfBits(literal.bits);
  if (type === "f32" || type === "b32") {
    return literal.width === 32 ? literal.bits : bitsOfSingle(value);
  }
  if (type === "f64" || type === "b64") {
    return literal.width === 64 ? literal.bits : bitsOfDouble(value);
  }
  return null;
}
