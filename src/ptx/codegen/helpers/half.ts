/** Conversions between f16, held as its 16 bits in an i32, and f64. */
import type { Helper } from "./helper.ts";
import { ROUNDING_MODE } from "./rounding.ts";

const HALF_INFINITY = 0x7c00;
const HALF_LARGEST = 0x7bff;

/** Bits by which an f64's fraction is longer. */
const FRACTION_EXCESS = 42;

/** (bits) -> the f64 of the same value; a NaN keeps its payload and becomes quiet. */
const halfToF64: Helper = {
  type: { parameters: ["i32"], results: ["f64"] },
  write: (code) => {
    const [sign, magnitude] = [code.local("i64"), code.local("i32")];
    code.get(0).i32(0x8000).ops("i32.and", "i64.extend_i32_u").i64(48).op("i64.shl").set(sign);
    code.get(0).i32(0x7fff).op("i32.and").tee(magnitude).i32(0x400).op("i32.lt_u").if("f64");
    // Zero or subnormal: a multiple of 2^-24.
    code
      .get(magnitude)
      .op("f64.convert_i32_u")
      .f64(2 ** -24)
      .op("f64.mul");
    code.else();
    code.get(magnitude).op("i64.extend_i32_u").i64(FRACTION_EXCESS).op("i64.shl");
    code.i64((1023n - 15n) << 52n).i64((2047n - 31n) << 52n);
    code.get(magnitude).i32(HALF_INFINITY).ops("i32.lt_u", "select", "i64.add");
    code.i64(0x0008000000000000n).i64(0).get(magnitude).i32(HALF_INFINITY);
    code.ops("i32.gt_u", "select", "i64.or", "f64.reinterpret_i64").end();
    code.ops("i64.reinterpret_f64").get(sign).ops("i64.or", "f64.reinterpret_i64");
  },
};

/** (x, mode) -> the bits of x rounded to f16; a NaN keeps the top of its payload. */
const halfFromF64: Helper = {
  type: { parameters: ["f64", "i32"], results: ["i32"] },
  write: (code) => {
    const mode = 1;
    const [bits, shift] = [code.local("i64"), code.local("i64")];
    const [kept, rest] = [code.local("i64"), code.local("i64")];
    const [sign, exponent, up] = [code.local("i32"), code.local("i32"), code.local("i32")];
    code.get(0).op("i64.reinterpret_f64").tee(bits).i64(48).ops("i64.shr_u", "i32.wrap_i64");
    code.i32(0x8000).op("i32.and").set(sign);
    code.get(0).f64(0).op("f64.eq").if();
    code.get(sign).op("return").end();
    code.get(0).get(0).op("f64.ne").if();
    code.get(sign).i32(0x7e00).op("i32.or");
    code.get(bits).i64(FRACTION_EXCESS).ops("i64.shr_u", "i32.wrap_i64").i32(0x3ff);
    code.ops("i32.and", "i32.or", "return").end();
    code.get(0).op("f64.abs").f64(Infinity).op("f64.eq").if();
    code.get(sign).i32(HALF_INFINITY).ops("i32.or", "return").end();
    // Whether this sign and mode round away from zero whatever is inexact.
    code.get(mode).i32(ROUNDING_MODE.rm).op("i32.eq").get(sign).i32(0).ops("i32.ne", "i32.and");
    code.get(mode).i32(ROUNDING_MODE.rp).op("i32.eq").get(sign).ops("i32.eqz", "i32.and", "i32.or");
    code.set(up);
    code.get(bits).i64(52).ops("i64.shr_u", "i32.wrap_i64").i32(0x7ff).op("i32.and");
    code
      .i32(1023 - 15)
      .op("i32.sub")
      .tee(exponent)
      .i32(31)
      .op("i32.ge_s")
      .if();
    code.get(sign).i32(HALF_INFINITY).i32(HALF_LARGEST).get(up).get(mode);
    code.ops("i32.eqz", "i32.or", "select", "i32.or", "return").end();
    // Below the smallest normal number the last bit stays where it is.
    code.i64(FRACTION_EXCESS).get(exponent).i32(1).op("i32.lt_s").if("i64");
    code.i32(1).get(exponent).ops("i32.sub", "i64.extend_i32_s").else().i64(0).end();
    code.op("i64.add").set(shift);
    code.get(shift).i64(63).op("i64.gt_s").if();
    code.i64(63).set(shift).end();
    code.get(bits).i64(0x000fffffffffffffn).op("i64.and").i64(0x0010000000000000n).op("i64.or");
    code.tee(bits).get(shift).op("i64.shr_u").set(kept);
    code.get(bits).i64(1).get(shift).op("i64.shl").i64(1).ops("i64.sub", "i64.and").set(rest);
    // To nearest: up where twice the rest, plus the last bit for a tie, is more than one unit.
    code.get(rest).i64(1).op("i64.shl").get(kept).i64(1).ops("i64.and", "i64.add");
    code.i64(1).get(shift).ops("i64.shl", "i64.gt_u").get(mode).ops("i32.eqz", "i32.and");
    code.get(up).get(rest).i64(0).ops("i64.ne", "i32.and", "i32.or");
    code.get(kept).ops("i32.wrap_i64", "i32.add");
    code.get(exponent).i32(1).op("i32.sub").i32(10).op("i32.shl").i32(0);
    code.get(exponent).i32(1).ops("i32.ge_s", "select", "i32.add").get(sign).op("i32.or");
  },
};

export const HALF_HELPERS = { halfToF64, halfFromF64 } as const;
