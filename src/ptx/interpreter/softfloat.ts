/**
 * Floating-point arithmetic on bit patterns, exact and then rounded once, in every rounding mode.
 * Values are taken apart into integers, so nothing here rests on the machine's own arithmetic.
 *
 * NaN results are canonical: 0x7fffffff for f32 arithmetic, as PTX and an H200 have it, 0x7fff for
 * f16, and 0xfff8000000000000 for f64. That is what an H200 makes of inf - inf in f64; but a NaN
 * that came in it passes on with its payload, through conversions from and to f64 too. PTX promises
 * nothing there, so whoever compares f64 NaNs should only ask whether both are NaNs.
 */
import type { Rounding } from "../ir/types.ts";

export type FloatType = "f16" | "f32" | "f64";

type Format = {
  /** Bits stored of the significand; the leading one of a normal number is not stored. */
  readonly fractionBits: number;
  readonly exponentBits: number;
  readonly canonicalNan: bigint;
};

const FORMATS: Readonly<Record<FloatType, Format>> = {
  f16: { fractionBits: 10, exponentBits: 5, canonicalNan: 0x7fffn },
  f32: { fractionBits: 23, exponentBits: 8, canonicalNan: 0x7fffffffn },
  f64: { fractionBits: 52, exponentBits: 11, canonicalNan: 0xfff8000000000000n },
};

/** A finite value is `significand * 2 ** exponent`, negated if `isNegative`. */
export type Parts =
  | { readonly kind: "nan" }
  | { readonly kind: "infinity"; readonly isNegative: boolean }
  | {
      readonly kind: "finite";
      readonly isNegative: boolean;
      readonly significand: bigint;
      readonly exponent: number;
    };

type Finite = Extract<Parts, { kind: "finite" }>;

const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length);
const biasOf = ({ exponentBits }: Format): number => (1 << (exponentBits - 1)) - 1;
const exponentMax = ({ exponentBits }: Format): number => (1 << exponentBits) - 1;

/** What an operation is done in. `flushSubnormals` is about the result only. */
export type Arithmetic = {
  readonly type: FloatType;
  readonly rounding: Rounding;
  readonly flushSubnormals: boolean;
};

/** Arithmetic that keeps subnormal results. */
export const plain = (type: FloatType, rounding: Rounding): Arithmetic => ({
  type,
  rounding,
  flushSubnormals: false,
});

/** Takes a bit pattern apart. */
export function decodeFloat(type: FloatType, bits: bigint): Parts {
  const format = FORMATS[type];
  const { fractionBits, exponentBits } = format;
  const isNegative = bits >> BigInt(fractionBits + exponentBits) === 1n;
  const exponent = Number(bits >> BigInt(fractionBits)) & exponentMax(format);
  const fraction = BigInt.asUintN(fractionBits, bits);
  if (exponent === exponentMax(format)) {
    return fraction === 0n ? { kind: "infinity", isNegative } : { kind: "nan" };
  }
  const leading = exponent === 0 ? 0n : 1n << BigInt(fractionBits);
  const scale = Math.max(exponent, 1) - biasOf(format) - fractionBits;
  return { kind: "finite", isNegative, significand: leading | fraction, exponent: scale };
}

export const isNan = (type: FloatType, bits: bigint): boolean =>
  decodeFloat(type, bits).kind === "nan";

export const canonicalNan = (type: FloatType): bigint => FORMATS[type].canonicalNan;

function assemble(type: FloatType, isNegative: boolean, magnitude: bigint): bigint {
  const { fractionBits, exponentBits } = FORMATS[type];
  return magnitude | (isNegative ? 1n << BigInt(fractionBits + exponentBits) : 0n);
}

export function infinity(type: FloatType, isNegative: boolean): bigint {
  const format = FORMATS[type];
  const magnitude = BigInt(exponentMax(format)) << BigInt(format.fractionBits);
  return assemble(type, isNegative, magnitude);
}

export const zero = (type: FloatType, isNegative: boolean): bigint =>
  assemble(type, isNegative, 0n);

/** True where the magnitude is rounded up, given what was cut off: `low` of `unit`. */
function roundsUp(rounding: Rounding, value: Finite, low: bigint, unit: bigint): boolean {
  if (low === 0n) return false;
  switch (rounding) {
    case "rn":
      return low * 2n > unit || (low * 2n === unit && (value.significand & 1n) === 1n);
    case "rz":
      return false;
    case "rm":
      return value.isNegative;
    case "rp":
      return !value.isNegative;
  }
}

/** Drops the low bits of the significand by rounding, so that the exponent becomes `exponent`. */
function roundTo(value: Finite, exponent: number, rounding: Rounding): Finite {
  const shift = exponent - value.exponent;
  if (shift <= 0) {
    return { ...value, significand: value.significand << BigInt(-shift), exponent };
  }
  const unit = 1n << BigInt(shift);
  const low = value.significand & (unit - 1n);
  const kept = { ...value, significand: value.significand >> BigInt(shift), exponent };
  if (!roundsUp(rounding, kept, low, unit)) return kept;
  return { ...kept, significand: kept.significand + 1n };
}

function overflow(type: FloatType, isNegative: boolean, rounding: Rounding): bigint {
  const toInfinity = rounding === "rn" || rounding === (isNegative ? "rm" : "rp");
  const bits = infinity(type, isNegative);
  return toInfinity ? bits : bits - 1n;
}

/**
 * The bit pattern nearest to a finite value, in the sense of the rounding mode. `.ftz` looks at the
 * value rounded as if exponents had no end, as an H200 does: 1.9999999 * 2^-127, which as a
 * subnormal would round up to the smallest normal number, becomes zero.
 */
export function encodeFloat(unit: Arithmetic, value: Finite): bigint {
  const { type, rounding } = unit;
  const format = FORMATS[type];
  const { fractionBits } = format;
  const precision = fractionBits + 1;
  const smallest = 1 - biasOf(format) - fractionBits;
  const wanted = value.exponent + bitLength(value.significand) - precision;
  if (unit.flushSubnormals) {
    const unbounded = roundTo(value, Math.max(wanted, value.exponent), rounding);
    const isTiny = bitLength(unbounded.significand) + unbounded.exponent < 2 - biasOf(format);
    if (isTiny) return zero(type, value.isNegative);
  }
  let rounded = roundTo(value, Math.max(wanted, smallest), rounding);
  if (bitLength(rounded.significand) > precision)
    rounded = roundTo(rounded, rounded.exponent + 1, rounding);
  const { significand, exponent, isNegative } = rounded;
  if (bitLength(significand) < precision) return assemble(type, isNegative, significand);
  const biased = exponent + fractionBits + biasOf(format);
  if (biased >= exponentMax(format)) return overflow(type, isNegative, rounding);
  const fraction = BigInt.asUintN(fractionBits, significand);
  return assemble(type, isNegative, (BigInt(biased) << BigInt(fractionBits)) | fraction);
}

/** A result that was cut off: an odd last bit stands for the rest, and then rounds as it would. */
const sticky = (significand: bigint, isInexact: boolean): bigint =>
  (significand << 1n) | (isInexact ? 1n : 0n);

function addFinite(left: Finite, right: Finite, rounding: Rounding): Finite {
  const exponent = Math.min(left.exponent, right.exponent);
  const aligned = ({ significand, exponent: from, isNegative }: Finite): bigint => {
    const magnitude = significand << BigInt(from - exponent);
    return isNegative ? -magnitude : magnitude;
  };
  const sum = aligned(left) + aligned(right);
  if (sum !== 0n) {
    const isNegative = sum < 0n;
    return { kind: "finite", isNegative, significand: isNegative ? -sum : sum, exponent };
  }
  // An exact zero is +0, or -0 when rounding down; two zeros of one sign keep it.
  const isNegative = left.isNegative === right.isNegative ? left.isNegative : rounding === "rm";
  return { kind: "finite", isNegative, significand: 0n, exponent };
}

function multiplyParts(left: Parts, right: Parts): Parts {
  if (left.kind === "nan" || right.kind === "nan") return { kind: "nan" };
  const isNegative = left.isNegative !== right.isNegative;
  if (left.kind === "infinity" || right.kind === "infinity") {
    const isZero = (part: Parts): boolean => part.kind === "finite" && part.significand === 0n;
    return isZero(left) || isZero(right) ? { kind: "nan" } : { kind: "infinity", isNegative };
  }
  const significand = left.significand * right.significand;
  return { kind: "finite", isNegative, significand, exponent: left.exponent + right.exponent };
}

function addParts(left: Parts, right: Parts, rounding: Rounding): Parts {
  if (left.kind === "nan" || right.kind === "nan") return { kind: "nan" };
  if (left.kind === "infinity") {
    const isInvalid = right.kind === "infinity" && right.isNegative !== left.isNegative;
    return isInvalid ? { kind: "nan" } : left;
  }
  return right.kind === "infinity" ? right : addFinite(left, right, rounding);
}

/** The bit pattern of parts, rounded. */
export function encodeParts(unit: Arithmetic, parts: Parts): bigint {
  if (parts.kind === "nan") return canonicalNan(unit.type);
  if (parts.kind === "infinity") return infinity(unit.type, parts.isNegative);
  return encodeFloat(unit, parts);
}

/** a + b. */
export function addFloat(unit: Arithmetic, a: bigint, b: bigint): bigint {
  const { type, rounding } = unit;
  return encodeParts(unit, addParts(decodeFloat(type, a), decodeFloat(type, b), rounding));
}

/** a * b. */
export function multiplyFloat(unit: Arithmetic, a: bigint, b: bigint): bigint {
  return encodeParts(unit, multiplyParts(decodeFloat(unit.type, a), decodeFloat(unit.type, b)));
}

/** a * b + c, rounded once. */
export function fuseFloat(unit: Arithmetic, [a, b, c]: readonly [bigint, bigint, bigint]): bigint {
  const { type, rounding } = unit;
  const product = multiplyParts(decodeFloat(type, a), decodeFloat(type, b));
  return encodeParts(unit, addParts(product, decodeFloat(type, c), rounding));
}

/** Bits by which an inexact quotient or root is longer than any format needs. */
const EXTRA_BITS = 4;

function divideFinite(type: FloatType, left: Finite, right: Finite): Finite {
  const { fractionBits } = FORMATS[type];
  const wanted = fractionBits + EXTRA_BITS + bitLength(right.significand);
  const shift = Math.max(0, wanted - bitLength(left.significand));
  const numerator = left.significand << BigInt(shift);
  const quotient = numerator / right.significand;
  const isInexact = quotient * right.significand !== numerator;
  return {
    kind: "finite",
    isNegative: left.isNegative !== right.isNegative,
    significand: sticky(quotient, isInexact),
    exponent: left.exponent - right.exponent - shift - 1,
  };
}

/** a / b. */
export function divideFloat(unit: Arithmetic, a: bigint, b: bigint): bigint {
  const { type } = unit;
  const [left, right] = [decodeFloat(type, a), decodeFloat(type, b)];
  if (left.kind === "nan" || right.kind === "nan") return canonicalNan(type);
  const isNegative = left.isNegative !== right.isNegative;
  if (left.kind === "infinity") {
    return right.kind === "infinity" ? canonicalNan(type) : infinity(type, isNegative);
  }
  if (right.kind === "infinity") return zero(type, isNegative);
  if (right.significand === 0n) {
    return left.significand === 0n ? canonicalNan(type) : infinity(type, isNegative);
  }
  return encodeFloat(unit, divideFinite(type, left, right));
}

/** The largest integer whose square is at most `value`, by Newton's method. */
function integerRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt(Math.ceil(bitLength(value) / 2));
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** The square root. */
export function rootFloat(unit: Arithmetic, a: bigint): bigint {
  const { type } = unit;
  const parts = decodeFloat(type, a);
  if (parts.kind === "nan") return canonicalNan(type);
  if (parts.kind === "finite" && parts.significand === 0n) return a;
  if (parts.isNegative) return canonicalNan(type);
  if (parts.kind === "infinity") return a;
  const wanted = 2 * (FORMATS[type].fractionBits + EXTRA_BITS);
  const least = Math.max(0, wanted - bitLength(parts.significand));
  const shift = least + ((least + parts.exponent) & 1);
  const radicand = parts.significand << BigInt(shift);
  const root = integerRoot(radicand);
  const significand = sticky(root, root * root !== radicand);
  const exponent = (parts.exponent - shift) / 2 - 1;
  return encodeFloat(unit, { kind: "finite", isNegative: false, significand, exponent });
}

/** One over the square root, correctly rounded: what `.approx` may be, and the nicest it can be. */
export function inverseRootFloat(unit: Arithmetic, a: bigint): bigint {
  const { type } = unit;
  const parts = decodeFloat(type, a);
  if (parts.kind === "nan") return canonicalNan(type);
  if (parts.kind === "finite" && parts.significand === 0n) return infinity(type, parts.isNegative);
  if (parts.isNegative) return canonicalNan(type);
  if (parts.kind === "infinity") return zero(type, false);
  const { significand: divisor, exponent: scale } = parts;
  const least = 2 * (FORMATS[type].fractionBits + EXTRA_BITS) + bitLength(divisor);
  const shift = least + ((least + scale) & 1);
  const numerator = 1n << BigInt(shift);
  const quotient = numerator / divisor;
  const root = integerRoot(quotient);
  const isInexact = root * root !== quotient || quotient * divisor !== numerator;
  const exponent = (-scale - shift) / 2 - 1;
  const significand = sticky(root, isInexact);
  return encodeFloat(unit, { kind: "finite", isNegative: false, significand, exponent });
}

/** A value in another format. */
export function convertFloat(from: FloatType, bits: bigint, to: Arithmetic): bigint {
  return encodeParts(to, decodeFloat(from, bits));
}

/** A finite value rounded to an integer; `rounding` is one of `.rn` to `.rp`. */
export function roundToInteger(value: Finite, rounding: Rounding): bigint {
  const { significand: magnitude } = roundTo(value, 0, rounding);
  return value.isNegative ? -magnitude : magnitude;
}

/** An integer as a floating-point value. */
export function floatOfInteger(unit: Arithmetic, value: bigint): bigint {
  const isNegative = value < 0n;
  const significand = isNegative ? -value : value;
  return encodeFloat(unit, { kind: "finite", isNegative, significand, exponent: 0 });
}

/** A subnormal number as the zero of its sign; everything else as it is. */
export function flushFloat(type: FloatType, bits: bigint): bigint {
  const format = FORMATS[type];
  const exponent = Number(bits >> BigInt(format.fractionBits)) & exponentMax(format);
  if (exponent !== 0) return bits;
  const signBit = 1n << BigInt(format.fractionBits + format.exponentBits);
  return bits & signBit;
}

/** `.sat`: clamped to [0, 1]; a NaN and -0 become +0. */
export function saturateFloat(type: FloatType, bits: bigint): bigint {
  const parts = decodeFloat(type, bits);
  if (parts.kind === "nan" || parts.isNegative) return 0n;
  const format = FORMATS[type];
  const one = BigInt(biasOf(format)) << BigInt(format.fractionBits);
  return bits > one ? one : bits;
}
