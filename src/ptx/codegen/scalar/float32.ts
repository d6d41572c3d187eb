/**
 * f32 arithmetic. Results are lax: a NaN has any bits until `Emitter.write` or a read settles it.
 */
import { invariant, unreachable } from "../../../base/mod.ts";
import type { Operand, Operation, Rounding } from "../../ir/types.ts";
import type { Code } from "../../wasm/code.ts";
import type { Emitter } from "./emitter.ts";
import { demote, flushOperand, flushResult, readFloat, saturate } from "./float-common.ts";

type Of<Op extends Operation["op"]> = Extract<Operation, { op: Op }>;

type Modified = {
  readonly destination: number;
  readonly flushSubnormals: boolean;
  readonly saturate: boolean;
};

/** Applies .sat and pops the result. */
function finish(emitter: Emitter, operation: Modified): void {
  if (operation.saturate) saturate(emitter, "f32");
  emitter.write(operation.destination, "f32", true);
}

export function emitFloat32Unary(emitter: Emitter, operation: Of<"unary">): void {
  const { code } = emitter;
  const { flushSubnormals: flush, rounding } = operation;
  readFloat(emitter, operation.source, "f32", flush);
  switch (operation.function) {
    case "neg":
    case "abs":
      code.op(`f32.${operation.function}`);
      break;
    case "sqrt":
      squareRoot(emitter, operation.precision === "exact" ? rounding : "rn");
      break;
    case "rcp": {
      const divisor = emitter.spill("f32");
      const one = emitter.temporary("f32");
      code.f32(0x3f800000).set(one);
      divide(emitter, { left: one, right: divisor, rounding, flush });
      break;
    }
    case "rsqrt":
    case "ex2":
    case "lg2":
      emitter.call(operation.function);
      if (flush) flushOperand(emitter);
      break;
    case "sin":
    case "cos":
    case "tanh":
      code.op("f64.promote_f32").call(emitter.context.host(operation.function));
      code.op("f32.demote_f64");
      if (flush) flushOperand(emitter);
      break;
    case "not":
    case "cnot":
    case "popc":
    case "clz":
    case "brev":
      invariant(false, `${operation.function} is a float operation`);
  }
  finish(emitter, operation);
}

/** The root of a number that is not subnormal is never subnormal, so nothing needs flushing. */
function squareRoot(emitter: Emitter, rounding: Rounding): void {
  if (rounding === "rn") emitter.code.op("f32.sqrt");
  else emitter.call(rounding === "rp" ? "squareRootRp" : "squareRootRz");
}

/** Operands in locals. */
type Division = {
  readonly left: number;
  readonly right: number;
  readonly rounding: Rounding;
  readonly flush: boolean;
};

function divide(emitter: Emitter, { left, right, rounding, flush }: Division): void {
  const { code } = emitter;
  code.get(left);
  if (rounding === "rm") code.op("f32.neg");
  code.get(right);
  if (rounding === "rn") code.op("f32.div");
  else emitter.call(rounding === "rz" ? "divideRz" : "divideRp");
  if (rounding === "rm") code.op("f32.neg");
  if (!flush) return;
  flushResult(emitter, rounding, () => {
    code.get(left).op("f64.promote_f32").get(right).ops("f64.promote_f32", "f64.div");
  });
}

export function emitFloat32Binary(emitter: Emitter, operation: Of<"binary">): void {
  const { code } = emitter;
  const { flushSubnormals: flush, rounding, precision } = operation;
  const left = spillOperand(emitter, operation.left, flush);
  const right = spillOperand(emitter, operation.right, flush);
  switch (operation.function) {
    case "add":
    case "sub":
      if (operation.function === "sub" && rounding !== "rn") {
        code.get(right).op("f32.neg").set(right);
      }
      if (rounding === "rn") code.get(left).get(right).op(`f32.${operation.function}`);
      else directedSum(emitter, left, right, rounding);
      // A sum that small is exact, so that it can be flushed like an operand.
      if (flush) flushOperand(emitter);
      break;
    case "mul":
      multiply(emitter, { left, right, rounding, flush });
      break;
    case "div":
      divide(emitter, { left, right, rounding: precision === "exact" ? rounding : "rn", flush });
      break;
    case "min":
    case "max":
      extremum(emitter, operation.function, left, right);
      break;
    case "mulLo":
    case "mulHi":
    case "mulWide":
    case "rem":
    case "and":
    case "or":
    case "xor":
    case "shl":
    case "shr":
      invariant(false, `${operation.function} is a float operation`);
      break;
    default:
      unreachable(operation.function);
  }
  finish(emitter, operation);
}

function spillOperand(emitter: Emitter, operand: Operand, flush: boolean): number {
  readFloat(emitter, operand, "f32", flush);
  return emitter.spill("f32");
}

/** Sums as f64, rounded to odd, then to f32. Rounding down is rounding up of what is negated. */
function directedSum(emitter: Emitter, left: number, right: number, rounding: Rounding): void {
  const { code } = emitter;
  const push = (local: number): Code => {
    code.get(local).op("f64.promote_f32");
    return rounding === "rm" ? code.op("f64.neg") : code;
  };
  push(left);
  push(right);
  emitter.call("oddSum");
  if (rounding === "rm") {
    emitter.call("demoteRp").op("f32.neg");
  } else demote(emitter, rounding);
}

function multiply(emitter: Emitter, { left, right, rounding, flush }: Division): void {
  const { code } = emitter;
  const product = (): void => {
    code.get(left).op("f64.promote_f32").get(right).ops("f64.promote_f32", "f64.mul");
  };
  if (rounding === "rn") {
    code.get(left).get(right).op("f32.mul");
  } else {
    product();
    demote(emitter, rounding);
  }
  if (flush) flushResult(emitter, rounding, product);
}

/** min and max: a NaN yields to the other operand, and -0 is less than +0. */
function extremum(emitter: Emitter, name: "min" | "max", left: number, right: number): void {
  const { code } = emitter;
  code.get(left).get(right).op(`f32.${name}`);
  code.get(left).get(right).get(right).ops("f32.eq", "select");
  code.get(right).get(left).get(left).ops("f32.eq", "select");
}

/** An f64 has 29 bits more than an f32; shifted left by 3, the low word of a tie is this. */
const TIE_SHIFT = 3;
const TIE = 0x80000000;

/** The high word of 2^-126 as f64, shifted left by one, less 1. */
const NORMAL_LIMIT = (0x38100000 << 1) - 1;

export function emitFloat32Fma(emitter: Emitter, operation: Of<"ternary">): void {
  const { code } = emitter;
  const { flushSubnormals: flush, rounding } = operation;
  const a = spillOperand(emitter, operation.a, flush);
  const b = spillOperand(emitter, operation.b, flush);
  const c = spillOperand(emitter, operation.c, flush);
  const oddSum = (sign: "f64.neg" | null): void => {
    code.get(a).op("f64.promote_f32").get(b).ops("f64.promote_f32", "f64.mul");
    if (sign !== null) code.op(sign);
    code.get(c).op("f64.promote_f32");
    if (sign !== null) code.op(sign);
    emitter.call("oddSum");
  };
  if (rounding === "rn") fmaNearest(emitter, a, b, c);
  else if (rounding === "rm") {
    oddSum("f64.neg");
    emitter.call("demoteRp").op("f32.neg");
  } else {
    oddSum(null);
    demote(emitter, rounding);
  }
  if (flush) {
    flushResult(emitter, rounding, () => {
      oddSum(null);
    });
  }
  finish(emitter, operation);
}

/**
 * fma.rn.f32: the product is exact as f64 and the sum rounded once; rounding that to f32 is right
 * unless the sum looks like a tie, which the lost bits would break, or is subnormal as f32, where
 * ties lie elsewhere. A sum of zero is exact.
 */
function fmaNearest(emitter: Emitter, ...[a, b, c]: readonly [number, number, number]): void {
  const { code } = emitter;
  const [sum, bits] = [emitter.temporary("f64"), emitter.temporary("i64")];
  const result = emitter.temporary("f32");
  code.get(a).op("f64.promote_f32").get(b).ops("f64.promote_f32", "f64.mul");
  code.get(c).ops("f64.promote_f32", "f64.add").tee(sum).op("f32.demote_f64").set(result);
  code.get(sum).op("i64.reinterpret_f64").set(bits);
  const fine = code.block();
  const slow = code.block();
  code.get(bits).op("i32.wrap_i64").i32(TIE_SHIFT).op("i32.shl").i32(TIE).op("i32.eq");
  code.branchIf(slow);
  // No sum but zero has a high word of zero: it is at least 2^-298. Less 1, zero is the largest.
  code.get(bits).i64(32).ops("i64.shr_u", "i32.wrap_i64").i32(1).op("i32.shl");
  code.i32(1).op("i32.sub").i32(NORMAL_LIMIT).ops("i32.ge_u").branchIf(fine);
  code.end().get(a).get(b).get(c);
  emitter.call("fmaSlow").set(result).end().get(result);
}
