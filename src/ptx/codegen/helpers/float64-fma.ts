/** The fused multiply-add of f64, in integers for every case, and in floats for the usual one. */
import type { Code } from "../../wasm/code.ts";
import type { Helper } from "./helper.ts";
import { ROUNDING_MODE } from "./rounding.ts";

const EXPONENT_MAX = 0x7ff;
const FRACTION_BITS = 52;
const FRACTION_MASK = 0x000fffffffffffffn;
const IMPLICIT_BIT = 0x0010000000000000n;
const SIGN_BIT = 1n << 63n;
const INFINITY = 0x7ff0000000000000n;
const LARGEST_FINITE = 0x7fefffffffffffffn;

/**
 * (high, low, count) -> the 128-bit number shifted right; bits shifted out are or-ed into the last.
 */
export const shiftRightJam: Helper = {
  type: { parameters: ["i64", "i64", "i64"], results: ["i64", "i64"] },
  write: (code) => {
    const [high, low, count] = [0, 1, 2];
    const lost = code.local("i64");
    code.get(count).i64(64).op("i64.ge_u").if();
    // Whole words first: the low word is lost, the high one takes its place.
    code.get(low).set(lost).get(high).set(low).i64(0).set(high);
    code.get(count).i64(64).op("i64.sub").tee(count).i64(64).op("i64.ge_u").if();
    code.get(lost).get(low).op("i64.or").set(lost).i64(0).set(low).i64(0).set(count).end();
    code.end();
    code.get(count).ops("i64.eqz", "i32.eqz").if();
    code.get(lost).get(low).i64(64).get(count).ops("i64.sub", "i64.shl", "i64.or").set(lost);
    code.get(low).get(count).op("i64.shr_u");
    code.get(high).i64(64).get(count).ops("i64.sub", "i64.shl", "i64.or").set(low);
    code.get(high).get(count).op("i64.shr_u").set(high).end();
    code.get(high).get(low).get(lost).i64(0).ops("i64.ne", "i64.extend_i32_u", "i64.or");
  },
};

/** A finite number taken apart: its biased exponent, and its significand with bit 52 set. */
type Parts = { readonly exponent: number; readonly significand: number };

/** Takes apart the bits in `bits`, which are of a finite number that is not zero. */
function takeApart(code: Code, bits: number): Parts {
  const parts = { exponent: code.local("i64"), significand: code.local("i64") };
  const { exponent, significand } = parts;
  const excess = code.local("i64");
  code.get(bits).i64(FRACTION_BITS).op("i64.shr_u").i64(EXPONENT_MAX).op("i64.and");
  code.set(exponent);
  code.get(bits).i64(FRACTION_MASK).op("i64.and").set(significand);
  code.get(exponent).op("i64.eqz").if();
  // A subnormal: moved up to bit 52, with an exponent below 1.
  code
    .get(significand)
    .op("i64.clz")
    .i64(63 - FRACTION_BITS)
    .op("i64.sub")
    .set(excess);
  code.get(significand).get(excess).op("i64.shl").set(significand);
  code.i64(1).get(excess).op("i64.sub").set(exponent);
  code.else().get(significand).i64(IMPLICIT_BIT).op("i64.or").set(significand).end();
  return parts;
}

/** A number as sign (bit 63), 128-bit magnitude and exponent of its last bit. */
type Wide = { high: number; low: number; exponent: number; sign: number };

const wide = (code: Code): Wide => ({
  high: code.local("i64"),
  low: code.local("i64"),
  exponent: code.local("i64"),
  sign: code.local("i64"),
});

/**
 * Returns early where an operand is no finite number or the product is zero: then wasm is exact.
 */
function special(code: Code, mode: number): void {
  const isSpecial = (x: number): Code => code.get(x).get(x).op("f64.sub").f64(0).op("f64.ne");
  const isFactorSpecial = code.local("i32");
  isSpecial(0);
  isSpecial(1).ops("i32.or").set(isFactorSpecial);
  // A finite product could overflow on its way to an infinite addend, which it cannot change.
  code.get(isFactorSpecial).op("i32.eqz");
  isSpecial(2).op("i32.and").if();
  code.get(2).op("return").end();
  code.get(isFactorSpecial);
  code.get(0).f64(0).ops("f64.eq", "i32.or").get(1).f64(0).ops("f64.eq", "i32.or").if();
  const result = code.local("f64");
  code.get(0).get(1).op("f64.mul").get(2).op("f64.add").set(result);
  // Rounding down, zeros of different signs add up to -0.
  code.get(mode).i32(ROUNDING_MODE.rm).op("i32.eq").get(result).f64(0).ops("f64.eq", "i32.and");
  code.if();
  code.get(0).get(1).ops("f64.mul", "f64.neg").get(2).ops("f64.sub", "f64.neg").set(result).end();
  code.get(result).op("return").end();
}

/** The exact product of the parameters 0 and 1: its top bit is bit 125 or 126. */
function product(code: Code, indexOf: (name: string) => number, into: Wide): void {
  const bits = [code.local("i64"), code.local("i64")] as const;
  code.get(0).op("i64.reinterpret_f64").set(bits[0]);
  code.get(1).op("i64.reinterpret_f64").set(bits[1]);
  code.get(bits[0]).get(bits[1]).op("i64.xor").i64(SIGN_BIT).op("i64.and").set(into.sign);
  const [left, right] = [takeApart(code, bits[0]), takeApart(code, bits[1])];
  code.get(left.significand).i64(10).op("i64.shl").set(left.significand);
  code.get(right.significand).i64(11).op("i64.shl").set(right.significand);
  code.get(left.significand).get(right.significand).call(indexOf("multiplyHighU64"));
  code.set(into.high);
  code.get(left.significand).get(right.significand).op("i64.mul").set(into.low);
  code
    .get(left.exponent)
    .get(right.exponent)
    .op("i64.add")
    .i64(2 * 1075 + 21)
    .op("i64.sub");
  code.set(into.exponent);
}

/** Adds parameter 2, unless it is zero, to `sum`; returns early where nothing is left. */
function addend(code: Code, indexOf: (name: string) => number, sum: Wide, mode: number): void {
  const [bits, shift] = [code.local("i64"), code.local("i64")];
  const other = wide(code);
  const jam = indexOf("shiftRightJam");
  code.get(2).f64(0).op("f64.ne").if();
  code.get(2).op("i64.reinterpret_f64").tee(bits).i64(SIGN_BIT).op("i64.and").set(other.sign);
  const parts = takeApart(code, bits);
  code.get(parts.significand).i64(9).op("i64.shl").set(other.high).i64(0).set(other.low);
  code
    .get(parts.exponent)
    .i64(1075 + 73)
    .op("i64.sub")
    .set(other.exponent);
  // The one with the smaller exponent is shifted down to the other's.
  code.get(sum.exponent).get(other.exponent).op("i64.sub").tee(shift).i64(0).op("i64.ge_s").if();
  code.get(other.high).get(other.low).get(shift).call(jam).set(other.low).set(other.high);
  code.else();
  code.get(sum.high).get(sum.low).i64(0).get(shift).op("i64.sub").call(jam);
  code.set(sum.low).set(sum.high).get(other.exponent).set(sum.exponent).end();
  combine(code, sum, other, mode);
  code.end();
}

/** Adds or subtracts magnitudes, by the signs. */
function combine(code: Code, sum: Wide, other: Wide, mode: number): void {
  const low = code.local("i64");
  code.get(sum.sign).get(other.sign).op("i64.eq").if();
  code.get(sum.low).get(other.low).op("i64.add").tee(low).get(sum.low).ops("i64.lt_u");
  code.op("i64.extend_i32_u").get(sum.high).get(other.high).ops("i64.add", "i64.add");
  code.set(sum.high).get(low).set(sum.low);
  code.else();
  // The larger minus the smaller, so that the difference is not negative.
  code.get(sum.high).get(other.high).op("i64.lt_u");
  code.get(sum.high).get(other.high).op("i64.eq");
  code.get(sum.low).get(other.low).ops("i64.lt_u", "i32.and", "i32.or").if();
  for (const part of ["high", "low", "sign"] as const) {
    code.get(sum[part]).get(other[part]).set(sum[part]).set(other[part]);
  }
  code.end();
  code.get(sum.high).get(other.high).op("i64.sub");
  code.get(sum.low).get(other.low).ops("i64.lt_u", "i64.extend_i32_u", "i64.sub").set(sum.high);
  code.get(sum.low).get(other.low).op("i64.sub").set(sum.low);
  code.get(sum.high).get(sum.low).ops("i64.or", "i64.eqz").if();
  code.f64(-0).f64(0).get(mode).i32(ROUNDING_MODE.rm).ops("i32.eq", "select", "return");
  code.end().end();
}

/** Leaves in `high` the 64 most significant bits, the top one set, the last one jammed. */
function normalise(code: Code, sum: Wide): void {
  const shift = code.local("i64");
  code.get(sum.high).op("i64.eqz").if();
  code.get(sum.low).set(sum.high).i64(0).set(sum.low);
  code.get(sum.exponent).i64(64).op("i64.sub").set(sum.exponent).end();
  code.get(sum.high).op("i64.clz").tee(shift).ops("i64.eqz", "i32.eqz").if();
  code.get(sum.high).get(shift).op("i64.shl");
  code.get(sum.low).i64(64).get(shift).ops("i64.sub", "i64.shr_u", "i64.or").set(sum.high);
  code.get(sum.low).get(shift).op("i64.shl").set(sum.low);
  code.get(sum.exponent).get(shift).op("i64.sub").set(sum.exponent).end();
  code.get(sum.high).get(sum.low).i64(0).ops("i64.ne", "i64.extend_i32_u", "i64.or");
  code.set(sum.high);
}

/** Locals of a magnitude being rounded: 53 bits that are kept, and the 11 bits below. */
type Rounded = { readonly rest: number; readonly kept: number; readonly sign: number };

/** Pushes 1 where the kept bits are to be rounded up. */
function roundsUp(code: Code, mode: number, { rest, kept, sign }: Rounded): void {
  // To nearest: more than half, or half and the last kept bit odd.
  code.get(rest).get(kept).i64(1).ops("i64.and", "i64.add").i64(0x400).op("i64.gt_u");
  code.get(mode).ops("i32.eqz", "i32.and");
  code.get(rest).i64(0).op("i64.ne");
  code.get(mode).i32(ROUNDING_MODE.rm).op("i32.eq").get(sign).i64(0).ops("i64.ne", "i32.and");
  code.get(mode).i32(ROUNDING_MODE.rp).op("i32.eq").get(sign).ops("i64.eqz", "i32.and");
  code.ops("i32.or", "i32.and", "i32.or");
}

/** Rounds what `normalise` left, and pushes the result. */
function round(code: Code, indexOf: (name: string) => number, sum: Wide, mode: number): void {
  const [rest, kept, exponent] = [code.local("i64"), code.local("i64"), code.local("i64")];
  code
    .get(sum.exponent)
    .i64(127 + 1023)
    .op("i64.add")
    .tee(exponent)
    .i64(EXPONENT_MAX);
  code.op("i64.ge_s").if();
  // Too large: infinity where rounding goes that way, else the largest finite number.
  code.i64(INFINITY).i64(LARGEST_FINITE).get(mode).op("i32.eqz");
  code.get(mode).i32(ROUNDING_MODE.rm).op("i32.eq").get(sum.sign).i64(0).ops("i64.ne", "i32.and");
  code.get(mode).i32(ROUNDING_MODE.rp).op("i32.eq").get(sum.sign).ops("i64.eqz", "i32.and");
  code.ops("i32.or", "i32.or", "select").get(sum.sign).ops("i64.or", "f64.reinterpret_i64");
  code.op("return").end();
  code.get(exponent).i64(0).op("i64.le_s").if();
  // Subnormal: the last bit is that of exponent 1.
  code.get(sum.high).i64(0).i64(1).get(exponent).op("i64.sub").call(indexOf("shiftRightJam"));
  code.i64(0).ops("i64.ne", "i64.extend_i32_u", "i64.or").set(sum.high);
  code.i64(1).set(exponent).end();
  code.get(sum.high).i64(11).op("i64.shr_u").set(kept);
  code.get(sum.high).i64(0x7ff).op("i64.and").set(rest);
  roundsUp(code, mode, { rest, kept, sign: sum.sign });
  code.op("i64.extend_i32_u").get(kept).op("i64.add");
  code.get(mode).i32(ROUNDING_MODE.odd).op("i32.eq").get(rest).i64(0).ops("i64.ne", "i32.and");
  code.ops("i64.extend_i32_u", "i64.or").set(kept);
  // The implicit bit counts as one exponent, so a subnormal and a carry come out right.
  code.get(exponent).i64(1).op("i64.sub").i64(FRACTION_BITS).op("i64.shl").get(kept).op("i64.add");
  code.get(sum.sign).ops("i64.or", "f64.reinterpret_i64");
}

/** (a, b, c, mode) -> a * b + c, rounded once, as `ROUNDING_MODE` says. A NaN is any NaN. */
export const fma: Helper = {
  type: { parameters: ["f64", "f64", "f64", "i32"], results: ["f64"] },
  write: (code, indexOf) => {
    const mode = 3;
    const sum = wide(code);
    special(code, mode);
    product(code, indexOf, sum);
    addend(code, indexOf, sum, mode);
    normalise(code, sum);
    round(code, indexOf, sum, mode);
  },
};

/** Veltkamp's splitter for 53 bits: 2^27 + 1. */
const SPLITTER = 134217729;

/** Splits a number into two halves of 26 bits whose sum it is. */
function split(code: Code, x: number): readonly [number, number] {
  const [high, low] = [code.local("f64"), code.local("f64")];
  code.get(x).f64(SPLITTER).op("f64.mul").tee(high).get(high).get(x).ops("f64.sub", "f64.sub");
  code.set(high).get(x).get(high).op("f64.sub").set(low);
  return [high, low];
}

/** The sum of two numbers and its rounding error, exactly (Knuth). */
function twoSum(code: Code, x: number, y: number): readonly [number, number] {
  const [sum, part, error] = [code.local("f64"), code.local("f64"), code.local("f64")];
  code.get(x).get(y).op("f64.add").tee(sum).get(x).op("f64.sub").set(part);
  code.get(x).get(sum).get(part).ops("f64.sub", "f64.sub").get(y).get(part).op("f64.sub");
  code.op("f64.add").set(error);
  return [sum, error];
}

/** Pushes whether biased exponents of the parameters are where the float algorithm is exact. */
function isModerate(code: Code): void {
  const exponents = [0, 1, 2].map((parameter) => {
    const exponent = code.local("i32");
    code.get(parameter).op("i64.reinterpret_f64").i64(FRACTION_BITS).ops("i64.shr_u");
    code.op("i32.wrap_i64").i32(EXPONENT_MAX).op("i32.and").set(exponent);
    return exponent;
  });
  const [a = 0, b = 0, c = 0] = exponents;
  const within = (low: number, high: number): Code =>
    code
      .i32(low)
      .op("i32.sub")
      .i32(high - low)
      .op("i32.le_u");
  code.get(a);
  within(100, 1950);
  code.get(b);
  within(100, 1950).op("i32.and");
  code.get(a).get(b).op("i32.add");
  within(2046 - 900, 2046 + 900).op("i32.and");
  code.get(c).i32(2000).ops("i32.lt_u", "i32.and");
}

/**
 * (a, b, c) -> a * b + c, rounded to nearest. Where no part can overflow or lose bits, the product
 * and two sums are taken with their errors (Dekker, Knuth), whose sum is rounded to odd; elsewhere
 * the integer form does it.
 */
export const fmaNearest: Helper = {
  type: { parameters: ["f64", "f64", "f64"], results: ["f64"] },
  write: (code, indexOf) => {
    isModerate(code);
    code.op("i32.eqz").if();
    code.get(0).get(1).get(2).i32(ROUNDING_MODE.rn).call(indexOf("fma64")).op("return").end();
    const [product, error] = [code.local("f64"), code.local("f64")];
    code.get(0).get(1).op("f64.mul").set(product);
    const [[aHigh, aLow], [bHigh, bLow]] = [split(code, 0), split(code, 1)];
    code.get(aHigh).get(bHigh).op("f64.mul").get(product).op("f64.sub");
    code.get(aHigh).get(bLow).ops("f64.mul", "f64.add").get(aLow).get(bHigh).ops("f64.mul");
    code.op("f64.add").get(aLow).get(bLow).ops("f64.mul", "f64.add").set(error);
    const [low, lowError] = twoSum(code, 2, error);
    const [high, highError] = twoSum(code, product, low);
    code.get(high).get(lowError).get(highError).call(indexOf("oddSum")).op("f64.add");
  },
};
