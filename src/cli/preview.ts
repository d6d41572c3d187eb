/** The first values of an output buffer, for people. */
import { SCALAR_BYTES, type ScalarType } from "../owner/mod.ts";

/** Values that a preview shows. */
export const PREVIEW_VALUES_MAX = 8;

/** Bytes that a preview of any type needs. */
export const PREVIEW_BYTES_MAX = PREVIEW_VALUES_MAX * 8;

const LITTLE_ENDIAN = true;

type Reader = (view: DataView, at: number) => string;

const READERS: Readonly<Record<ScalarType, Reader>> = {
  u8: (view, at) => String(view.getUint8(at)),
  s8: (view, at) => String(view.getInt8(at)),
  u16: (view, at) => String(view.getUint16(at, LITTLE_ENDIAN)),
  s16: (view, at) => String(view.getInt16(at, LITTLE_ENDIAN)),
  u32: (view, at) => String(view.getUint32(at, LITTLE_ENDIAN)),
  s32: (view, at) => String(view.getInt32(at, LITTLE_ENDIAN)),
  u64: (view, at) => String(view.getBigUint64(at, LITTLE_ENDIAN)),
  s64: (view, at) => String(view.getBigInt64(at, LITTLE_ENDIAN)),
  f32: (view, at) => floatText(shortest(view.getFloat32(at, LITTLE_ENDIAN))),
  f64: (view, at) => floatText(view.getFloat64(at, LITTLE_ENDIAN)),
};

/** The values that `bytes` begins with, as text; of unknown type they are shown as bytes in hex. */
export function previewValues(bytes: Uint8Array, type: ScalarType | null): readonly string[] {
  if (type === null) {
    return Array.from(bytes.subarray(0, PREVIEW_VALUES_MAX), (byte) =>
      byte.toString(16).padStart(2, "0"),
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = SCALAR_BYTES[type];
  const count = Math.min(PREVIEW_VALUES_MAX, Math.floor(bytes.length / width));
  return Array.from({ length: count }, (_, index) => READERS[type](view, index * width));
}

/** The shortest decimal that is this very f32: 0.1, not 0.10000000149011612. */
function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Object.is(Math.fround(short), value)) return short;
  }
  return value;
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0" : String(value);
}
