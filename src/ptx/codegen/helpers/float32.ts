/**
 * f32 arithmetic that wasm lacks. All of it goes through f64, where the product of two f32 values
 * is exact and a sum can be rounded to odd; rounding that to f32, in any direction, is then right
 * (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
 */
import type { Code } from "../../wasm/code.ts";
import type { ValueType } from "../../wasm/value-type.ts";
import type { Helper } from "./helper.ts";

const f64 = (count: number): readonly ValueType[] => Array<ValueType>(count).fill("f64");

/** (p, c) -> p + c, rounded to odd: inexact results get an odd last bit. No overflow may happen. */
const oddSum: Helper = {
  type: { parameters: f64(2), results: ["f64"] },
  write: (code) => {
    const [p, c] = [0, 1];
    const [sum, part, error] = [code.local("f64"), code.local("f64"), code.local("f64")];
    const bits = code.local("i64");
    code.get(p).get(c).op("f64.add").tee(sum).get(p).op("f64.sub").set(part);
    code.get(p).get(sum).get(part).ops("f64.sub", "f64.sub");
    code.get(c).get(part).ops("f64.sub", "f64.add").set(error);
    code.get(sum).op("i64.reinterpret_f64").set(bits);
    // The error is a NaN where an operand is no finite number; then the sum stands as it is.
    code.get(error).get(error).op("f64.eq").get(error).f64(0).ops("f64.ne", "i32.and");
    code.get(bits).i64(1).ops("i64.and", "i64.eqz", "i32.and").if();
    // One step away from zero where the error has the sum's sign, else one step towards it.
    code.get(bits).i64(1).i64(-1);
    code.get(error).ops("i64.reinterpret_f64").get(bits).op("i64.xor").i64(0).op("i64.ge_s");
    code.ops("select", "i64.add").set(bits).end();
    code.get(bits).op("f64.reinterpret_i64");
  },
};

/** (a, b, c) -> fma.rn.f32, for the cases that plain f64 arithmetic may round twice. */
const fmaSlow: Helper = {
  type: { parameters: ["f32", "f32", "f32"], results: ["f32"] },
  write: (code, indexOf) => {
    code.get(0).op("f64.promote_f32").get(1).ops("f64.promote_f32", "f64.mul");
    code.get(2).op("f64.promote_f32").call(indexOf("oddSum")).op("f32.demote_f64");
  },
};

/** Pushes whether `excess` has the sign that `result` has, and is not zero. */
function sameSign(code: Code, result: number, excess: number): Code {
  return code.get(excess).f64(1).get(result).ops("f64.promote_f32", "f64.copysign", "f64.mul");
}

/** (result, excess) -> result, or the next f32 towards zero where its magnitude is too large. */
const stepRz: Helper = {
  type: { parameters: ["f32", "f64"], results: ["f32"] },
  write: (code) => {
    sameSign(code, 0, 1).f64(0).op("f64.gt").if("f32");
    code.get(0).op("i32.reinterpret_f32").i32(1).ops("i32.sub", "f32.reinterpret_i32");
    code.else().get(0).end();
  },
};

/** (result, excess) -> result, or the next f32 upwards where it is too small. */
const stepRp: Helper = {
  type: { parameters: ["f32", "f64"], results: ["f32"] },
  write: (code) => {
    const bits = code.local("i32");
    code.get(1).f64(0).op("f64.lt").if("f32");
    code.get(0).op("i32.reinterpret_f32").tee(bits).i32(1).i32(-1);
    code.get(bits).i32(0).ops("i32.ge_s", "select", "i32.add", "f32.reinterpret_i32");
    code.else().get(0).end();
  },
};

/** (x) -> x rounded to f32 in a direction; `excess` is how much the nearest f32 is above x. */
const demote = (step: "stepRz" | "stepRp"): Helper => ({
  type: { parameters: ["f64"], results: ["f32"] },
  write: (code, indexOf) => {
    const result = code.local("f32");
    code.get(0).op("f32.demote_f64").tee(result);
    code.get(result).op("f64.promote_f32").get(0).op("f64.sub").call(indexOf(step));
  },
});

/**
 * (a, b) -> a / b: the nearest quotient q, then a step by the sign of q * b - a, which is exact.
 */
const divide = (step: "stepRz" | "stepRp"): Helper => ({
  type: { parameters: ["f32", "f32"], results: ["f32"] },
  write: (code, indexOf) => {
    const [quotient, divisor] = [code.local("f32"), code.local("f64")];
    code.get(1).op("f64.promote_f32").set(divisor);
    code.get(0).get(1).op("f32.div").tee(quotient);
    code.get(quotient).op("f64.promote_f32").get(divisor).op("f64.mul");
    code.get(0).ops("f64.promote_f32", "f64.sub");
    code.f64(1).get(divisor).ops("f64.copysign", "f64.mul").call(indexOf(step));
  },
});

/** (x) -> square root: the nearest root r, then a step by the sign of r * r - x. */
const squareRoot = (step: "stepRz" | "stepRp"): Helper => ({
  type: { parameters: ["f32"], results: ["f32"] },
  write: (code, indexOf) => {
    const [root, wide] = [code.local("f32"), code.local("f64")];
    code.get(0).op("f32.sqrt").tee(root);
    code.get(root).op("f64.promote_f32").tee(wide).get(wide).op("f64.mul");
    code.get(0).ops("f64.promote_f32", "f64.sub").call(indexOf(step));
  },
});

/** 2^-126, the smallest normal f32. */
export const F32_NORMAL_MIN = 2 ** -126;

/**
 * (result, exact, limit) -> result, or a zero of its sign where the result is subnormal. CUDA's
 * .ftz looks at the result as rounded with unbounded exponent: a magnitude just below 2^-126 that
 * rounds up to it as a subnormal is flushed all the same, if `exact` is below `limit`.
 */
const flushTiny: Helper = {
  type: { parameters: ["f32", "f64", "f64"], results: ["f32"] },
  write: (code) => {
    const [result, exact, limit] = [0, 1, 2];
    code.f32(0).get(result).op("f32.copysign").get(result);
    code.get(result).ops("f32.abs", "f64.promote_f32").f64(F32_NORMAL_MIN).op("f64.lt");
    code.get(exact).op("f64.abs").get(limit).ops("f64.lt", "i32.or", "select");
  },
};

export const FLOAT32_HELPERS = {
  oddSum,
  fmaSlow,
  stepRz,
  stepRp,
  demoteRz: demote("stepRz"),
  demoteRp: demote("stepRp"),
  divideRz: divide("stepRz"),
  divideRp: divide("stepRp"),
  squareRootRz: squareRoot("stepRz"),
  squareRootRp: squareRoot("stepRp"),
  flushTiny,
} as const;
