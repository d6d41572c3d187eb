/** Scalars of a launch descriptor, as a job wants them: from bits to text. */
import type { ScalarType } from "../owner/mod.ts";

/** Bits of each type. */
const BITS: Readonly<Record<ScalarType, number>> = {
  u8: 8,
  s8: 8,
  u16: 16,
  s16: 16,
  u32: 32,
  s32: 32,
  u64: 64,
  s64: 64,
  f32: 32,
  f64: 64,
};

/** The number that the bits stand for, as text that gives the same bits again. */
export function scalarText(type: ScalarType, bits: bigint): string {
  if (type === "f32" || type === "f64") return floatText(type, bits);
  if (type.startsWith("u")) return String(bits);
  return String(BigInt.asIntN(BITS[type], bits));
}

function floatText(type: "f32" | "f64", bits: bigint): string {
  const view = new DataView(new ArrayBuffer(8));
  if (type === "f32") view.setUint32(0, Number(bits));
  else view.setBigUint64(0, bits);
  const value = type === "f32" ? view.getFloat32(0) : view.getFloat64(0);
  // String() drops the sign of a zero.
  return Object.is(value, -0) ? "-0" : String(value);
}
