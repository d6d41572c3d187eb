/**
 * What each computing instruction does to bit patterns, written for clarity: integers as PTX has
 * them (shifts clamp, division never traps), floating point exact and rounded once.
 */
import { invariant } from "../../base/mod.ts";
import {
  bitsOfDouble,
  bitsOfSingle,
  doubleOfBits,
  isFloatType,
  isSignedType,
  singleOfBits,
  widthOf,
} from "../ir/encode.ts";
import type {
  AtomicFunction,
  BinaryFunction,
  Comparison,
  DataType,
  Instruction,
  Rounding,
  TernaryFunction,
  UnaryFunction,
} from "../ir/types.ts";
import {
  addFloat,
  canonicalNan,
  divideFloat,
  flushFloat,
  fuseFloat,
  inverseRootFloat,
  isNan,
  multiplyFloat,
  rootFloat,
  saturateFloat,
  type Arithmetic,
  type FloatType,
} from "./softfloat.ts";

/** A bit pattern as the integer that it stands for. */
export function integerOf(type: DataType, bits: bigint): bigint {
  return isSignedType(type) ? BigInt.asIntN(widthOf(type), bits) : bits;
}

/** An integer as the bit pattern of its low bits. */
export const wrap = (type: DataType, value: bigint): bigint => BigInt.asUintN(widthOf(type), value);

export function floatTypeOf(type: DataType): FloatType {
  invariant(type === "f16" || type === "f32" || type === "f64", `${type} is a float`);
  return type;
}

/** The smallest and the largest integer of a type. */
export function rangeOf(type: DataType): readonly [bigint, bigint] {
  const width = BigInt(widthOf(type));
  if (!isSignedType(type)) return [0n, (1n << width) - 1n];
  return [-(1n << (width - 1n)), (1n << (width - 1n)) - 1n];
}

export function clamp(value: bigint, [low, high]: readonly [bigint, bigint]): bigint {
  return value < low ? low : value > high ? high : value;
}

/**
 * PTX leaves division by zero open; quotient and remainder are all ones, as an H200 has them. The
 * most negative number by -1 wraps to itself, with remainder 0.
 */
const divide = (left: bigint, right: bigint): bigint => (right === 0n ? -1n : left / right);
const remainder = (left: bigint, right: bigint): bigint => (right === 0n ? -1n : left % right);

function integerBinary(name: BinaryFunction, type: DataType, pair: [bigint, bigint]): bigint {
  const [left, right] = pair;
  const width = widthOf(type);
  switch (name) {
    case "add":
      return left + right;
    case "sub":
      return left - right;
    case "mul":
    case "mulLo":
    case "mulWide":
      return left * right;
    case "mulHi":
      return (left * right) >> BigInt(width);
    case "div":
      return divide(left, right);
    case "rem":
      return remainder(left, right);
    case "min":
      return left < right ? left : right;
    case "max":
      return left > right ? left : right;
    case "and":
      return left & right;
    case "or":
      return left | right;
    case "xor":
      return left ^ right;
    case "shl":
      return right >= BigInt(width) ? 0n : left << right;
    case "shr":
      // A count of the width and more leaves only the sign, or nothing.
      return left >> (right > BigInt(width) ? BigInt(width) : right);
  }
}

/** Bits of an f32 or f64 as a number: exact, since both are subsets of the doubles. */
function numberOf(type: FloatType, bits: bigint): number {
  return type === "f32" ? singleOfBits(bits) : doubleOfBits(bits);
}

/** The other operand of a NaN, if it is one; -0 is below +0. */
function extremeFloat(type: FloatType, pickLarger: boolean, pair: [bigint, bigint]): bigint {
  const [left, right] = pair;
  const [isLeftNan, isRightNan] = [isNan(type, left), isNan(type, right)];
  if (isLeftNan && isRightNan) return canonicalNan(type);
  if (isLeftNan) return right;
  if (isRightNan) return left;
  const [a, b] = [numberOf(type, left), numberOf(type, right)];
  const isLess = a < b || (a === b && Object.is(a, -0));
  return isLess === pickLarger ? right : left;
}

function floatBinary(name: BinaryFunction, unit: Arithmetic, pair: [bigint, bigint]): bigint {
  const [left, right] = pair;
  const signBit = 1n << BigInt(widthOf(unit.type) - 1);
  switch (name) {
    case "add":
      return addFloat(unit, left, right);
    case "sub": {
      // A NaN may have its sign turned: the sum is canonical whatever it was.
      return addFloat(unit, left, right ^ signBit);
    }
    case "mul":
      return multiplyFloat(unit, left, right);
    case "div":
      return divideFloat(unit, left, right);
    case "min":
    case "max":
      return extremeFloat(unit.type, name === "max", pair);
    case "mulLo":
    case "mulHi":
    case "mulWide":
    case "rem":
    case "and":
    case "or":
    case "xor":
    case "shl":
    case "shr":
      invariant(false, `${name} has no floating-point form`);
  }
}

type Modified = { readonly flushSubnormals: boolean; readonly saturate: boolean };

/** Does a floating-point operation with `.ftz` on inputs and result, and `.sat` on the result. */
function withModifiers(
  type: FloatType,
  { flushSubnormals, saturate }: Modified,
  inputs: readonly bigint[],
  work: (inputs: readonly bigint[]) => bigint,
): bigint {
  const flush = (bits: bigint): bigint => (flushSubnormals ? flushFloat(type, bits) : bits);
  const result = flush(work(inputs.map(flush)));
  return saturate ? saturateFloat(type, result) : result;
}

type Binary = Pick<
  Extract<Instruction, { op: "binary" }>,
  "function" | "type" | "rounding" | "flushSubnormals" | "saturate"
>;

/** A binary operation; `right` is a u32 for shifts. The result is as wide as the operation says. */
export function computeBinary(operation: Binary, left: bigint, right: bigint): bigint {
  const { type, rounding } = operation;
  const name = operation.function;
  if (isFloatType(type)) {
    const unit = { type: floatTypeOf(type), rounding, flushSubnormals: operation.flushSubnormals };
    return withModifiers(unit.type, operation, [left, right], ([a = 0n, b = 0n]) =>
      floatBinary(name, unit, [a, b]),
    );
  }
  const isShift = name === "shl" || name === "shr";
  const count = isShift ? right : integerOf(type, right);
  const exact = integerBinary(name, type, [integerOf(type, left), count]);
  if (operation.saturate) return wrap(type, clamp(exact, rangeOf(type)));
  const width = widthOf(type) * (name === "mulWide" ? 2 : 1);
  return BigInt.asUintN(width, exact);
}

type Ternary = Pick<
  Extract<Instruction, { op: "ternary" }>,
  "function" | "type" | "rounding" | "flushSubnormals" | "saturate"
>;

const PRODUCTS: Readonly<Record<Exclude<TernaryFunction, "fma">, BinaryFunction>> = {
  madLo: "mulLo",
  madHi: "mulHi",
  madWide: "mulWide",
};

/** a * b + c; `c` and the result are twice as wide for madWide. */
export function computeTernary(operation: Ternary, [a, b, c]: [bigint, bigint, bigint]): bigint {
  const { type, rounding } = operation;
  const name = operation.function;
  if (name === "fma") {
    const unit = { type: floatTypeOf(type), rounding, flushSubnormals: operation.flushSubnormals };
    return withModifiers(unit.type, operation, [a, b, c], ([x = 0n, y = 0n, z = 0n]) =>
      fuseFloat(unit, [x, y, z]),
    );
  }
  const product = integerBinary(PRODUCTS[name], type, [integerOf(type, a), integerOf(type, b)]);
  const width = widthOf(type) * (name === "madWide" ? 2 : 1);
  return BigInt.asUintN(width, product + c);
}

const ONES: Readonly<Record<FloatType, bigint>> = {
  f16: 0x3c00n,
  f32: 0x3f800000n,
  f64: 0x3ff0000000000000n,
};

/**
 * Functions that PTX has only as `.approx`: computed in double precision and rounded, which lies
 * well within the error that PTX allows; hardware differs in the last bits.
 */
const APPROXIMATIONS: Readonly<Partial<Record<UnaryFunction, (value: number) => number>>> = {
  ex2: (value) => 2 ** value,
  lg2: (value) => Math.log2(value),
  sin: (value) => Math.sin(value),
  cos: (value) => Math.cos(value),
  tanh: (value) => Math.tanh(value),
};

function approximate(name: UnaryFunction, type: FloatType, bits: bigint): bigint {
  const approximation = APPROXIMATIONS[name];
  invariant(approximation !== undefined, `${name} is approximated`);
  const value = approximation(numberOf(type, bits));
  if (Number.isNaN(value)) return canonicalNan(type);
  return type === "f32" ? bitsOfSingle(value) : bitsOfDouble(value);
}

function floatUnary(name: UnaryFunction, unit: Arithmetic, bits: bigint): bigint {
  const signBit = 1n << BigInt(widthOf(unit.type) - 1);
  switch (name) {
    case "neg":
    case "abs":
      // PTX leaves open which NaN; an H200 gives the canonical one in f32, and in f64 the input's.
      if (unit.type === "f32" && isNan("f32", bits)) return canonicalNan("f32");
      return name === "neg" ? bits ^ signBit : bits & (signBit - 1n);
    case "sqrt":
      return rootFloat(unit, bits);
    case "rcp":
      return divideFloat(unit, ONES[unit.type], bits);
    case "rsqrt":
      return inverseRootFloat(unit, bits);
    case "ex2":
    case "lg2":
    case "sin":
    case "cos":
    case "tanh":
      return approximate(name, unit.type, bits);
    case "not":
    case "cnot":
    case "popc":
    case "clz":
    case "brev":
      invariant(false, `${name} has no floating-point form`);
  }
}

function integerUnary(name: UnaryFunction, type: DataType, bits: bigint): bigint {
  const width = widthOf(type);
  const digits = bits.toString(2).padStart(width, "0");
  switch (name) {
    case "neg":
      return wrap(type, -bits);
    case "abs": {
      const value = integerOf(type, bits);
      return wrap(type, value < 0n ? -value : value);
    }
    case "not":
      return wrap(type, ~bits);
    case "cnot":
      return bits === 0n ? 1n : 0n;
    case "popc":
      return BigInt(digits.replaceAll("0", "").length);
    case "clz":
      return BigInt(bits === 0n ? width : digits.indexOf("1"));
    case "brev":
      return BigInt(`0b${Array.from(digits).reverse().join("")}`);
    case "sqrt":
    case "rcp":
    case "rsqrt":
    case "ex2":
    case "lg2":
    case "sin":
    case "cos":
    case "tanh":
      invariant(false, `${name} has no integer form`);
  }
}

type Unary = Pick<
  Extract<Instruction, { op: "unary" }>,
  "function" | "type" | "rounding" | "flushSubnormals" | "saturate"
>;

/** A unary operation. */
export function computeUnary(operation: Unary, source: bigint): bigint {
  const { type, rounding } = operation;
  if (!isFloatType(type)) return integerUnary(operation.function, type, source);
  const unit = { type: floatTypeOf(type), rounding, flushSubnormals: operation.flushSubnormals };
  return withModifiers(unit.type, operation, [source], ([a = 0n]) =>
    floatUnary(operation.function, unit, a),
  );
}

/** Compares; NaNs make every ordered comparison false and every `u` comparison true. */
export function computeComparison(
  comparison: Comparison,
  type: DataType,
  [left, right]: [bigint, bigint],
): boolean {
  let [a, b]: [bigint | number, bigint | number] = [integerOf(type, left), integerOf(type, right)];
  let isUnordered = false;
  if (isFloatType(type)) {
    const float = floatTypeOf(type);
    isUnordered = isNan(float, left) || isNan(float, right);
    [a, b] = [numberOf(float, left), numberOf(float, right)];
  }
  const results: Readonly<Record<Comparison, boolean>> = {
    eq: a === b,
    ne: a !== b && !isUnordered,
    lt: a < b,
    le: a <= b,
    gt: a > b,
    ge: a >= b,
    equ: a === b || isUnordered,
    neu: a !== b || isUnordered,
    ltu: a < b || isUnordered,
    leu: a <= b || isUnordered,
    gtu: a > b || isUnordered,
    geu: a >= b || isUnordered,
    num: !isUnordered,
    nan: isUnordered,
  };
  return results[comparison];
}

const PLAIN = { rounding: "rn" as Rounding, saturate: false };

/** What an atomic leaves in memory, given what was there. */
export function computeAtomic(
  operation: { readonly function: AtomicFunction; readonly type: DataType },
  old: bigint,
  source: bigint,
  modifiers: { readonly comparand: bigint; readonly flushSubnormals: boolean },
): bigint {
  const { type } = operation;
  const name = operation.function;
  switch (name) {
    case "exch":
      return source;
    case "cas":
      return old === modifiers.comparand ? source : old;
    case "inc":
      return old >= source ? 0n : old + 1n;
    case "dec":
      return old === 0n || old > source ? source : old - 1n;
    case "add":
    case "min":
    case "max":
    case "and":
    case "or":
    case "xor": {
      const { flushSubnormals } = modifiers;
      return computeBinary({ function: name, type, ...PLAIN, flushSubnormals }, old, source);
    }
  }
}
