/** Integer arithmetic. Operands and results are proper values of their type, see `Emitter`. */
import { invariant, unreachable } from "../../../base/mod.ts";
import type {
  BinaryFunction,
  DataType,
  Operand,
  Operation,
  UnaryFunction,
} from "../../ir/types.ts";
import type { Code } from "../../wasm/code.ts";
import { integerOf, isSigned, widthOf, type Emitter } from "./emitter.ts";

type Of<Op extends Operation["op"]> = Extract<Operation, { op: Op }>;

/** Pushes an integer of the wasm type that computes on `type`. */
function constant(code: Code, type: DataType, value: number): Code {
  return integerOf(type) === "i64" ? code.i64(value) : code.i32(value);
}

/** Makes an i32 result a proper value of a narrow type again. */
function settle(emitter: Emitter, type: DataType): void {
  if (widthOf(type) < 32 && type !== "pred") emitter.extend(type);
}

/** The type of the same signedness and twice the width. */
const DOUBLED: Partial<Record<DataType, DataType>> = {
  u8: "u16",
  s8: "s16",
  u16: "u32",
  s16: "s32",
  u32: "u64",
  s32: "s64",
};

export const doubled = (type: DataType): DataType => DOUBLED[type] ?? type;

export function emitIntegerUnary(emitter: Emitter, operation: Of<"unary">): void {
  const { type, source, destination } = operation;
  emitter.read(source, type);
  const result = applyUnary(emitter, operation.function, type);
  emitter.write(destination, result);
}

/** Applies a function to the top of the stack, and returns the type of the result. */
function applyUnary(emitter: Emitter, name: UnaryFunction, type: DataType): DataType {
  const { code } = emitter;
  const integer = integerOf(type);
  switch (name) {
    case "neg": {
      const value = emitter.spill(integer);
      constant(code, type, 0).get(value).op(`${integer}.sub`);
      settle(emitter, type);
      return type;
    }
    case "abs": {
      const value = emitter.spill(integer);
      constant(code, type, 0).get(value).op(`${integer}.sub`).get(value);
      constant(code.get(value), type, 0).ops(`${integer}.lt_s`, "select");
      settle(emitter, type);
      return type;
    }
    case "not":
      if (type === "pred") code.op("i32.eqz");
      else constant(code, type, -1).op(`${integer}.xor`);
      settle(emitter, type);
      return type;
    case "cnot":
      code.op(`${integer}.eqz`);
      if (integer === "i64") code.op("i64.extend_i32_u");
      return type;
    case "popc":
    case "clz":
      code.op(name === "popc" ? `${integer}.popcnt` : `${integer}.clz`);
      if (integer === "i64") code.op("i32.wrap_i64");
      return "u32";
    case "brev":
      emitter.call(integer === "i64" ? "reverse64" : "reverse32");
      return type;
    case "sqrt":
    case "rcp":
    case "rsqrt":
    case "ex2":
    case "lg2":
    case "sin":
    case "cos":
    case "tanh":
      invariant(false, `${name} of ${type} is an integer operation`);
  }
}

export function emitIntegerBinary(emitter: Emitter, operation: Of<"binary">): void {
  const { type, left, right, destination } = operation;
  const name = operation.function;
  if (name === "shl" || name === "shr") {
    emitShift(emitter, operation);
    return;
  }
  emitter.read(left, type);
  emitter.read(right, type);
  if (operation.saturate) emitSaturating(emitter, name);
  else applyBinary(emitter, name, type);
  emitter.write(destination, name === "mulWide" ? doubled(type) : type);
}

/** add.sat.s32 and sub.sat.s32: in 64 bits, clamped. */
function emitSaturating(emitter: Emitter, name: BinaryFunction): void {
  const { code } = emitter;
  const right = emitter.spill("i32");
  code.op("i64.extend_i32_s").get(right).op("i64.extend_i32_s");
  code.op(name === "add" ? "i64.add" : "i64.sub");
  clampSigned64(emitter, -(2n ** 31n), 2n ** 31n - 1n);
  code.op("i32.wrap_i64");
}

/** Clamps the signed i64 on the stack. */
export function clampSigned64(emitter: Emitter, least: bigint, most: bigint): void {
  const { code } = emitter;
  const value = emitter.temporary("i64");
  code.tee(value).i64(most).get(value).i64(most).ops("i64.lt_s", "select").tee(value);
  code.i64(least).get(value).i64(least).ops("i64.gt_s", "select");
}

/** Applies a function to the two values on the stack. */
function applyBinary(emitter: Emitter, name: BinaryFunction, type: DataType): void {
  const { code } = emitter;
  const integer = integerOf(type);
  switch (name) {
    case "add":
    case "sub":
    case "and":
    case "or":
    case "xor":
      code.op(`${integer}.${name}`);
      settle(emitter, type);
      return;
    case "mul":
    case "mulLo":
      code.op(`${integer}.mul`);
      settle(emitter, type);
      return;
    case "mulHi":
      multiplyHigh(emitter, type);
      return;
    case "mulWide":
      multiplyWide(emitter, type);
      return;
    case "div":
    case "rem":
      divide(emitter, name, type);
      return;
    case "min":
    case "max": {
      const right = emitter.spill(integer);
      const left = emitter.spill(integer);
      const sign = isSigned(type) ? "s" : "u";
      code.get(left).get(right).get(left).get(right);
      code.ops(`${integer}.${name === "min" ? "lt" : "gt"}_${sign}`, "select");
      return;
    }
    case "shl":
    case "shr":
      invariant(false, "a shift reads its operands by itself");
    default:
      unreachable(name);
  }
}

function multiplyWide(emitter: Emitter, type: DataType): void {
  const { code } = emitter;
  if (widthOf(type) < 32) {
    // The product of two 16-bit numbers fits as it is.
    code.op("i32.mul");
    return;
  }
  const right = emitter.spill("i32");
  const extend = isSigned(type) ? "i64.extend_i32_s" : "i64.extend_i32_u";
  code.op(extend).get(right).op(extend).op("i64.mul");
}

function multiplyHigh(emitter: Emitter, type: DataType): void {
  const { code } = emitter;
  const width = widthOf(type);
  if (width === 64) {
    emitter.call(isSigned(type) ? "multiplyHighS64" : "multiplyHighU64");
    return;
  }
  if (width < 32) {
    code.op("i32.mul").i32(width).op("i32.shr_s");
    settle(emitter, type);
    return;
  }
  multiplyWide(emitter, type);
  code.i64(32).ops("i64.shr_u", "i32.wrap_i64");
}

/**
 * CUDA never traps here: division by zero gives all ones, as does its remainder; the most negative
 * number divided by -1 gives itself.
 */
function divide(emitter: Emitter, name: "div" | "rem", type: DataType): void {
  const { code } = emitter;
  const integer = integerOf(type);
  const right = emitter.spill(integer);
  const left = emitter.spill(integer);
  code.get(right).op(`${integer}.eqz`).if(integer);
  constant(code, type, -1).else();
  if (isSigned(type) && name === "div") {
    constant(code.get(right), type, -1).op(`${integer}.eq`).if(integer);
    constant(code, type, 0).get(left).op(`${integer}.sub`).else();
    code.get(left).get(right).op(`${integer}.div_s`).end();
  } else {
    code
      .get(left)
      .get(right)
      .op(`${integer}.${name}_${isSigned(type) ? "s" : "u"}`);
  }
  code.end();
  settle(emitter, type);
}

/** Counts past the width give what shifting out every bit gives. */
function emitShift(emitter: Emitter, operation: Of<"binary">): void {
  const { type, left, right, destination } = operation;
  const { code } = emitter;
  const [integer, width] = [integerOf(type), widthOf(type)];
  const isArithmetic = operation.function === "shr" && isSigned(type);
  const shift = operation.function === "shl" ? "shl" : isArithmetic ? "shr_s" : "shr_u";
  emitter.read(left, type);
  const constantCount = right.kind === "constant" ? Number(BigInt.asUintN(32, right.bits)) : null;
  if (constantCount !== null) {
    const isPast = constantCount >= width;
    if (isPast && !isArithmetic) constant(code.op("drop"), type, 0);
    else constant(code, type, Math.min(constantCount, width - 1)).op(`${integer}.${shift}`);
  } else {
    const count = countLocal(emitter, right);
    const pushCount = (): Code => {
      code.get(count);
      return integer === "i64" ? code.op("i64.extend_i32_u") : code;
    };
    if (isArithmetic) {
      code
        .get(count)
        .i32(width - 1)
        .get(count)
        .i32(width - 1)
        .ops("i32.lt_u", "select");
      if (integer === "i64") code.op("i64.extend_i32_u");
      code.op(`${integer}.${shift}`);
    } else {
      pushCount().op(`${integer}.${shift}`);
      constant(code, type, 0).get(count).i32(width).ops("i32.lt_u", "select");
    }
  }
  settle(emitter, type);
  emitter.write(destination, type);
}

function countLocal(emitter: Emitter, count: Operand): number {
  emitter.read(count, "u32");
  return emitter.spill("i32");
}

export function emitIntegerTernary(emitter: Emitter, operation: Of<"ternary">): void {
  const { type, a, b, c, destination } = operation;
  const { code } = emitter;
  const product = { madLo: "mulLo", madHi: "mulHi", madWide: "mulWide" } as const;
  const name = operation.function;
  invariant(name !== "fma", "fma is no integer operation");
  const result = name === "madWide" ? doubled(type) : type;
  emitter.read(a, type);
  emitter.read(b, type);
  applyBinary(emitter, product[name], type);
  emitter.read(c, result);
  code.op(`${integerOf(result)}.add`);
  settle(emitter, result);
  emitter.write(destination, result);
}
