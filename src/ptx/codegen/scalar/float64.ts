/** f64 arithmetic. NaNs are exact: CUDA's f64 keeps payloads. */
import { invariant, unreachable } from "../../../base/mod.ts";
import type { Operand, Operation, Rounding } from "../../ir/types.ts";
import { ROUNDING_MODE } from "../helpers/rounding.ts";
import type { Emitter } from "./emitter.ts";
import { saturate, settleNan64 } from "./float-common.ts";

type Of<Op extends Operation["op"]> = Extract<Operation, { op: Op }>;

function spillOperand(emitter: Emitter, operand: Operand): number {
  emitter.read(operand, "f64");
  return emitter.spill("f64");
}

function finish(
  emitter: Emitter,
  operation: { readonly saturate: boolean; readonly destination: number },
  regarded: readonly number[],
): void {
  settleNan64(emitter, regarded);
  if (operation.saturate) saturate(emitter, "f64");
  emitter.write(operation.destination, "f64");
}

export function emitFloat64Unary(emitter: Emitter, operation: Of<"unary">): void {
  const { code } = emitter;
  const { rounding } = operation;
  const source = spillOperand(emitter, operation.source);
  switch (operation.function) {
    case "neg":
    case "abs":
      code.get(source).op(`f64.${operation.function}`);
      break;
    case "sqrt":
      code.get(source);
      if (rounding === "rn") code.op("f64.sqrt");
      else emitter.call(rounding === "rp" ? "squareRoot64Rp" : "squareRoot64Rz");
      break;
    case "rcp": {
      const one = emitter.temporary("f64");
      code.f64(1).set(one);
      divide(emitter, one, source, rounding);
      break;
    }
    case "rsqrt":
      code.f64(1).get(source).ops("f64.sqrt", "f64.div");
      break;
    case "ex2":
    case "lg2":
    case "sin":
    case "cos":
    case "tanh":
    case "not":
    case "cnot":
    case "popc":
    case "clz":
    case "brev":
      invariant(false, `${operation.function} is an f64 operation`);
  }
  finish(emitter, operation, [source]);
}

/** Rounding down is rounding up of what is negated. */
function divide(emitter: Emitter, left: number, right: number, rounding: Rounding): void {
  const { code } = emitter;
  code.get(left);
  if (rounding === "rm") code.op("f64.neg");
  code.get(right);
  if (rounding === "rn") code.op("f64.div");
  else emitter.call(rounding === "rz" ? "divide64Rz" : "divide64Rp");
  if (rounding === "rm") code.op("f64.neg");
}

export function emitFloat64Binary(emitter: Emitter, operation: Of<"binary">): void {
  const { code } = emitter;
  const { rounding } = operation;
  const name = operation.function;
  const left = spillOperand(emitter, operation.left);
  const right = spillOperand(emitter, operation.right);
  switch (name) {
    case "add":
    case "sub":
      code.get(left);
      if (rounding === "rn") {
        code.get(right).op(`f64.${name}`);
        break;
      }
      code.f64(1).get(right);
      if (name === "sub") code.op("f64.neg");
      code.i32(ROUNDING_MODE[rounding]);
      emitter.call("fma64");
      break;
    case "mul":
      code.get(left).get(right);
      if (rounding === "rn") {
        code.op("f64.mul");
        break;
      }
      // Adding a zero of the product's own sign changes neither its value nor its sign.
      code.f64(0).get(left).get(right).ops("f64.mul", "f64.copysign");
      code.i32(ROUNDING_MODE[rounding]);
      emitter.call("fma64");
      break;
    case "div":
      divide(emitter, left, right, rounding);
      break;
    case "min":
    case "max":
      code.get(left).get(right).op(`f64.${name}`);
      code.get(left).get(right).get(right).ops("f64.eq", "select");
      code.get(right).get(left).get(left).ops("f64.eq", "select");
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
      invariant(false, `${name} is a float operation`);
      break;
    default:
      unreachable(name);
  }
  finish(emitter, operation, name === "div" ? [left, right] : [right, left]);
}

export function emitFloat64Fma(emitter: Emitter, operation: Of<"ternary">): void {
  const { code } = emitter;
  const a = spillOperand(emitter, operation.a);
  const b = spillOperand(emitter, operation.b);
  const c = spillOperand(emitter, operation.c);
  code.get(a).get(b).get(c);
  if (operation.rounding === "rn") emitter.call("fma64Nearest");
  else {
    code.i32(ROUNDING_MODE[operation.rounding]);
    emitter.call("fma64");
  }
  finish(emitter, operation, [b, c, a]);
}
