/**
 * f64 arithmetic that wasm lacks: the fused multiply-add and the directed roundings, exactly, over
 * the whole range; and the NaNs that CUDA gives.
 */
import { fma, fmaNearest, shiftRightJam } from "./float64-fma.ts";
import type { Helper } from "./helper.ts";
import { ROUNDING_MODE } from "./rounding.ts";

const QUIET_BIT = 0x0008000000000000n;

/** The NaN that an invalid operation generates. */
const GENERATED_NAN = 0xfff8000000000000n;

/** (x, otherwise) -> the bits of x made quiet where it is a NaN. */
const quietOr: Helper = {
  type: { parameters: ["f64", "i64"], results: ["i64"] },
  write: (code) => {
    code.get(0).op("i64.reinterpret_f64").i64(QUIET_BIT).op("i64.or").get(1);
    code.get(0).get(0).ops("f64.ne", "select");
  },
};

/**
 * (second, first) -> the NaN that an operation gives whose result is one: the first operand's, else
 * the second's, else a generated one. CUDA looks at b before a (div: at a before b).
 */
const nanOf2: Helper = {
  type: { parameters: ["f64", "f64"], results: ["f64"] },
  write: (code, indexOf) => {
    const quiet = indexOf("quietOr");
    code.get(1).get(0).i64(GENERATED_NAN).call(quiet).call(quiet).op("f64.reinterpret_i64");
  },
};

/** (a, b, c) -> the same for fma, which looks at b, c, a in this order. */
const nanOf3: Helper = {
  type: { parameters: ["f64", "f64", "f64"], results: ["f64"] },
  write: (code, indexOf) => {
    const quiet = indexOf("quietOr");
    code.get(1).get(2).get(0).i64(GENERATED_NAN).call(quiet).call(quiet).call(quiet);
    code.op("f64.reinterpret_i64");
  },
};

/** (result, excess) -> result, or its neighbour towards zero where its magnitude is too large. */
const step64Rz: Helper = {
  type: { parameters: ["f64", "f64"], results: ["f64"] },
  write: (code) => {
    code.get(1).f64(1).get(0).ops("f64.copysign", "f64.mul").f64(0).op("f64.gt").if("f64");
    code.get(0).op("i64.reinterpret_f64").i64(1).ops("i64.sub", "f64.reinterpret_i64");
    code.else().get(0).end();
  },
};

/** (result, excess) -> result, or its upper neighbour where it is too small. */
const step64Rp: Helper = {
  type: { parameters: ["f64", "f64"], results: ["f64"] },
  write: (code) => {
    const bits = code.local("i64");
    code.get(1).f64(0).op("f64.lt").if("f64");
    code.get(0).op("i64.reinterpret_f64").tee(bits).i64(1).i64(-1);
    code.get(bits).i64(0).ops("i64.ge_s", "select", "i64.add", "f64.reinterpret_i64");
    code.else().get(0).end();
  },
};

/** (a, b) -> a / b in a direction: a step by the sign of q * b - a, taken exactly. */
const divide = (step: "step64Rz" | "step64Rp"): Helper => ({
  type: { parameters: ["f64", "f64"], results: ["f64"] },
  write: (code, indexOf) => {
    const quotient = code.local("f64");
    code.get(0).get(1).op("f64.div").tee(quotient);
    code.get(quotient).get(1).get(0).op("f64.neg").i32(ROUNDING_MODE.odd).call(indexOf("fma64"));
    code.f64(1).get(1).ops("f64.copysign", "f64.mul").call(indexOf(step));
  },
});

/** (x) -> square root in a direction: a step by the sign of r * r - x, taken exactly. */
const squareRoot = (step: "step64Rz" | "step64Rp"): Helper => ({
  type: { parameters: ["f64"], results: ["f64"] },
  write: (code, indexOf) => {
    const root = code.local("f64");
    code.get(0).op("f64.sqrt").tee(root);
    code.get(root).get(root).get(0).op("f64.neg").i32(ROUNDING_MODE.odd).call(indexOf("fma64"));
    code.call(indexOf(step));
  },
});

/**
 * (integer, mode) -> a signed 64-bit integer as f64: its halves are exact, one rounding joins them.
 */
const fromSigned64: Helper = {
  type: { parameters: ["i64", "i32"], results: ["f64"] },
  write: (code, indexOf) => {
    code
      .get(0)
      .i64(32)
      .ops("i64.shr_s", "f64.convert_i64_s")
      .f64(2 ** 32);
    code.get(0).i64(0xffffffffn).ops("i64.and", "f64.convert_i64_u");
    code.get(1).call(indexOf("fma64"));
  },
};

/** (integer, mode) -> an unsigned 64-bit integer as f64. */
const fromUnsigned64: Helper = {
  type: { parameters: ["i64", "i32"], results: ["f64"] },
  write: (code, indexOf) => {
    code
      .get(0)
      .i64(32)
      .ops("i64.shr_u", "f64.convert_i64_u")
      .f64(2 ** 32);
    code.get(0).i64(0xffffffffn).ops("i64.and", "f64.convert_i64_u");
    code.get(1).call(indexOf("fma64"));
  },
};

export const FLOAT64_HELPERS = {
  quietOr,
  nanOf2,
  nanOf3,
  step64Rz,
  step64Rp,
  divide64Rz: divide("step64Rz"),
  divide64Rp: divide("step64Rp"),
  squareRoot64Rz: squareRoot("step64Rz"),
  squareRoot64Rp: squareRoot("step64Rp"),
  fromSigned64,
  fromUnsigned64,
  shiftRightJam,
  fma64: fma,
  fma64Nearest: fmaNearest,
} as const;
