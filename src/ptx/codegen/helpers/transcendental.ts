/**
 * The functions that PTX only approximates, evaluated in f64 to about 2^-50 and rounded to f32
 * once: within half an ulp and a little of the true value, where PTX allows 2 ulp (ex2) or an
 * absolute 2^-22 (lg2). Real GPUs differ from this in the last bit.
 */
import type { Code } from "../../wasm/code.ts";
import type { Helper } from "./helper.ts";

/** Terms of the Taylor series of 2^f, |f| <= 1/2: the first left out is below 2^-53. */
const EX2_DEGREE = 13;

/** Terms s, s^3 .. s^21 of atanh(s), |s| <= 0.172: the first left out is below 2^-58. */
const LG2_DEGREE = 21;

/** Beyond this 2^x is infinite or zero even as f64. */
const EX2_RANGE = 1100;

/** Pushes 2^n for the integer n in an i64 local, which is in the range of normal exponents. */
function powerOfTwo(code: Code, exponent: number): Code {
  return code.get(exponent).i64(1023).op("i64.add").i64(52).ops("i64.shl", "f64.reinterpret_i64");
}

/** (x) -> 2^x */
const ex2: Helper = {
  type: { parameters: ["f32"], results: ["f32"] },
  write: (code) => {
    const [x, whole, fraction] = [code.local("f64"), code.local("f64"), code.local("f64")];
    const [half, rest] = [code.local("i64"), code.local("i64")];
    code.get(0).op("f64.promote_f32").f64(EX2_RANGE).op("f64.min").f64(-EX2_RANGE).op("f64.max");
    code.tee(x).op("f64.nearest").set(whole).get(x).get(whole).op("f64.sub").set(fraction);
    const coefficients = [1];
    for (let k = 1; k <= EX2_DEGREE; k += 1) {
      coefficients.push(((coefficients[k - 1] ?? 0) * Math.LN2) / k);
    }
    code.f64(0);
    for (const coefficient of coefficients.reverse()) {
      code.get(fraction).op("f64.mul").f64(coefficient).op("f64.add");
    }
    // The power is applied in two halves, since it may be past what one exponent holds.
    code.get(whole).op("i64.trunc_sat_f64_s").tee(rest).i64(1).op("i64.shr_s").set(half);
    code.get(rest).get(half).op("i64.sub").set(rest);
    powerOfTwo(code, half).op("f64.mul");
    powerOfTwo(code, rest).ops("f64.mul", "f32.demote_f64");
  },
};

const SQRT_HALF_BITS = 0x3fe6a09e667f3bcdn;

/** (x) -> log2(x) */
const lg2: Helper = {
  type: { parameters: ["f32"], results: ["f32"] },
  write: (code) => {
    const [x, bits, exponent] = [code.local("f64"), code.local("i64"), code.local("i64")];
    const [s, square] = [code.local("f64"), code.local("f64")];
    code.get(0).op("f64.promote_f32").set(x);
    code.get(x).f64(0).op("f64.gt").get(x).f64(Infinity).ops("f64.lt", "i32.and").if("f32");
    // x = 2^exponent * m with m from sqrt(1/2) to sqrt(2), and s = (m - 1) / (m + 1).
    code.get(x).op("i64.reinterpret_f64").tee(bits).i64(SQRT_HALF_BITS).op("i64.sub").i64(52);
    code.op("i64.shr_s").set(exponent);
    code.get(bits).get(exponent).i64(52).ops("i64.shl", "i64.sub", "f64.reinterpret_i64").tee(x);
    code.f64(1).op("f64.sub").get(x).f64(1).ops("f64.add", "f64.div").tee(s);
    code.get(s).op("f64.mul").set(square).f64(0);
    for (let k = LG2_DEGREE; k >= 1; k -= 2) {
      code
        .get(square)
        .op("f64.mul")
        .f64(1 / k)
        .op("f64.add");
    }
    code
      .get(s)
      .op("f64.mul")
      .f64(2 / Math.LN2)
      .op("f64.mul");
    code.get(exponent).ops("f64.convert_i64_s", "f64.add", "f32.demote_f64");
    code.else();
    // Zero of either sign: -infinity; infinity: itself; below zero: NaN.
    code.f32(0xff800000).get(0).f32(0x7fc00000).get(x).f64(0).ops("f64.gt", "select");
    code.get(x).f64(0).ops("f64.eq", "select").end();
  },
};

/** (x) -> 1 / sqrt(x) */
const rsqrt: Helper = {
  type: { parameters: ["f32"], results: ["f32"] },
  write: (code) => {
    code.f64(1).get(0).ops("f64.promote_f32", "f64.sqrt", "f64.div", "f32.demote_f64");
  },
};

export const TRANSCENDENTAL_HELPERS = { ex2, lg2, rsqrt } as const;
