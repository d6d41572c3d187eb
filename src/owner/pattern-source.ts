/**
 * Generated input: each pattern as a function of the element's index, so that it comes in chunks.
 */
import { seedValue, type ScalarType } from "../gpu/mod.ts";
import type { Pattern } from "./job.ts";

/** Fills `view`, which begins at byte `offset` of the argument. */
export type Filler = (view: Uint8Array, offset: number) => void;

/** Bytes of one element. */
export const SCALAR_BYTES: Readonly<Record<ScalarType, number>> = {
  u8: 1,
  s8: 1,
  u16: 2,
  s16: 2,
  u32: 4,
  s32: 4,
  u64: 8,
  s64: 8,
  f32: 4,
  f64: 8,
};

/** The type of a pattern's elements. */
export function patternType(pattern: Pattern): ScalarType {
  switch (pattern.kind) {
    case "work":
    case "ramp":
      return "f32";
    case "constant":
    case "index":
    case "random":
      return pattern.type;
  }
}

/** Writes element `index` of some pattern at byte `at` of the view. */
type Writer = (view: DataView, at: number, index: number) => void;

const LITTLE_ENDIAN = true;

function numberWriter(type: "f32" | "f64", value: (index: number) => number): Writer {
  return type === "f32"
    ? (view, at, index) => view.setFloat32(at, value(index), LITTLE_ENDIAN)
    : (view, at, index) => view.setFloat64(at, value(index), LITTLE_ENDIAN);
}

function integerWriter(
  type: Exclude<ScalarType, "f32" | "f64">,
  low: (index: number) => number,
  high: (index: number) => number,
): Writer {
  switch (SCALAR_BYTES[type]) {
    case 1:
      return (view, at, index) => view.setUint8(at, low(index) & 0xff);
    case 2:
      return (view, at, index) => view.setUint16(at, low(index) & 0xffff, LITTLE_ENDIAN);
    case 4:
      return (view, at, index) => view.setUint32(at, low(index) >>> 0, LITTLE_ENDIAN);
  }
  return (view, at, index) => {
    view.setUint32(at, low(index) >>> 0, LITTLE_ENDIAN);
    view.setUint32(at + 4, high(index) >>> 0, LITTLE_ENDIAN);
  };
}

const TWO_32 = 2 ** 32;

/** 32 well-mixed bits of (seed, index): the finaliser of MurmurHash3 (Appleby, public domain). */
export function mix32(seed: number, index: number): number {
  let h = (Math.imul(index % TWO_32, 0x9e3779b1) ^ Math.imul(seed, 0x85ebca6b)) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A 24-bit and a 53-bit fraction are what f32 and f64 hold in [0, 1). */
function randomFraction(type: "f32" | "f64", seed: number): (index: number) => number {
  if (type === "f32") return (index) => (mix32(seed, index) >>> 8) / 2 ** 24;
  return (index) =>
    ((mix32(seed, index) >>> 5) * 2 ** 26 + (mix32(seed ^ 1, index) >>> 6)) / 2 ** 53;
}

function writerOf(pattern: Exclude<Pattern, { readonly kind: "work" }>): Writer {
  switch (pattern.kind) {
    case "ramp":
      return numberWriter("f32", (index) => pattern.scale * (index % pattern.modulus));
    case "index":
      return pattern.type === "f32" || pattern.type === "f64"
        ? numberWriter(pattern.type, (index) => index)
        : integerWriter(
            pattern.type,
            (index) => index % TWO_32,
            (index) => Math.floor(index / TWO_32),
          );
    case "random":
      return pattern.type === "f32" || pattern.type === "f64"
        ? numberWriter(pattern.type, randomFraction(pattern.type, pattern.seed))
        : integerWriter(
            pattern.type,
            (index) => mix32(pattern.seed, index),
            (index) => mix32(~pattern.seed, index),
          );
    case "constant":
      return constantWriter(pattern.type, pattern.value);
  }
}

function constantWriter(type: ScalarType, value: string): Writer {
  if (type === "f32" || type === "f64") {
    const number = Number(value);
    return numberWriter(type, () => number);
  }
  const bits = BigInt.asUintN(64, BigInt(value));
  const [low, high] = [Number(bits & 0xffff_ffffn), Number(bits >> 32n)];
  return integerWriter(
    type,
    () => low,
    () => high,
  );
}

/** The pattern of every `work`: worth a loop of its own, since it is filled a million at a time. */
function fillWork(seed: number): Filler {
  return (bytes, offset) => {
    const first = offset / SCALAR_BYTES.f32;
    const length = bytes.byteLength / SCALAR_BYTES.f32;
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, length);
    for (let k = 0; k < length; k++) values[k] = seedValue(seed, first + k);
  };
}

/**
 * Fills bytes with the pattern's elements. Chunks must begin and end at whole elements, and be
 * aligned to them.
 */
export function fillPattern(pattern: Pattern): Filler {
  if (pattern.kind === "work") return fillWork(pattern.seed);
  const write = writerOf(pattern);
  const elementBytes = SCALAR_BYTES[patternType(pattern)];
  return (bytes, offset) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const first = offset / elementBytes;
    const count = Math.floor(bytes.byteLength / elementBytes);
    for (let k = 0; k < count; k++) write(view, k * elementBytes, first + k);
  };
}
