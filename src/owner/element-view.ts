/** Bytes as elements of a scalar type: summed up, and one of them as text. */
import { sumOn, sumWideOn, type ScalarType } from "../gpu/mod.ts";

/** Adds all elements to `sum`, first to last, each as the nearest f64. */
export function sumElements(sum: number, type: ScalarType, bytes: Uint8Array): number {
  if (type !== "u64" && type !== "s64") return sumOn(sum, narrowView(type, bytes));
  const words = bytes.byteLength / Uint32Array.BYTES_PER_ELEMENT;
  const lows = new Uint32Array(bytes.buffer, bytes.byteOffset, words);
  if (type === "u64") return sumWideOn(sum, lows, lows);
  return sumWideOn(sum, lows, new Int32Array(bytes.buffer, bytes.byteOffset, words));
}

/** The bytes, which must be aligned, as elements of up to 32 bits, or floats. */
function narrowView(
  type: Exclude<ScalarType, "u64" | "s64">,
  { buffer, byteOffset, byteLength }: Uint8Array,
): Parameters<typeof sumOn>[1] {
  switch (type) {
    case "u8":
      return new Uint8Array(buffer, byteOffset, byteLength);
    case "s8":
      return new Int8Array(buffer, byteOffset, byteLength);
    case "u16":
      return new Uint16Array(buffer, byteOffset, byteLength / 2);
    case "s16":
      return new Int16Array(buffer, byteOffset, byteLength / 2);
    case "u32":
      return new Uint32Array(buffer, byteOffset, byteLength / 4);
    case "s32":
      return new Int32Array(buffer, byteOffset, byteLength / 4);
    case "f32":
      return new Float32Array(buffer, byteOffset, byteLength / 4);
    case "f64":
      return new Float64Array(buffer, byteOffset, byteLength / 8);
  }
}

/** The first element, as text that tells all values apart. */
export function firstElementText(type: ScalarType, bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (type === "u64") return String(view.getBigUint64(0, true));
  if (type === "s64") return String(view.getBigInt64(0, true));
  return numberText(narrowView(type, bytes)[0] ?? 0);
}

/** As String() has it, but that -0 keeps its sign. */
export const numberText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));
