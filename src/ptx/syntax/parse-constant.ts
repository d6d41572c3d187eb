import type { Literal } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { Refusal } from "./diagnostic.ts";
import { NESTING_DEPTH_MAX } from "./limits.ts";
import type { Token } from "./token.ts";

/** A 64-bit integer, as PTX computes constants; `bits` are without sign. */
type Integer = { readonly bits: bigint; readonly isUnsigned: boolean };

const wrap = (value: bigint): bigint => BigInt.asUintN(64, value);
const valueOf = ({ bits, isUnsigned }: Integer): bigint =>
  isUnsigned ? bits : BigInt.asIntN(64, bits);

/** Binary operators, weakest first; all are left-associative. */
const LEVELS: readonly (readonly string[])[] = [
  ["|"],
  ["^"],
  ["&"],
  ["<<", ">>"],
  ["+", "-"],
  ["*", "/", "%"],
];

const view = new DataView(new ArrayBuffer(8));

/** The bit pattern of an f64. */
export function bitsOfDouble(value: number): bigint {
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

/** True where a constant may start: a number, a sign, or a parenthesis. */
export function startsConstant(cursor: Cursor): boolean {
  const { kind } = cursor.current;
  if (kind === "integer" || kind === "float") return true;
  if (cursor.is("!")) return cursor.following.kind !== "word";
  return ["-", "+", "~", "("].some((text) => cursor.is(text));
}

function integerOf(token: Token): Integer {
  const isMarked = token.text.endsWith("U");
  const text = isMarked ? token.text.slice(0, -1) : token.text;
  const isOctal = /^0[0-9]+$/.test(text);
  if (isOctal && /[89]/.test(text)) {
    throw new Refusal("invalid_ptx", token, `'${token.text}' starts like an octal number`);
  }
  const value = BigInt(isOctal ? `0o${text.slice(1)}` : text.replace(/^0([XB])/, "0$1"));
  if (value >= 1n << 64n) {
    throw new Refusal("invalid_ptx", token, `'${token.text}' does not fit in 64 bits`);
  }
  return { bits: value, isUnsigned: isMarked || value >= 1n << 63n };
}

function floatOf(token: Token): Literal {
  const prefix = token.text.slice(0, 2).toLowerCase();
  const bits = (): bigint => BigInt(`0x${token.text.slice(2)}`);
  if (prefix === "0f") return { kind: "float", bits: bits(), width: 32 };
  if (prefix === "0d") return { kind: "float", bits: bits(), width: 64 };
  return { kind: "float", bits: bitsOfDouble(Number(token.text)), width: 64 };
}

function combine(operator: Token, left: Integer, right: Integer): Integer {
  const isUnsigned = left.isUnsigned || right.isUnsigned;
  const [a, b] = [valueOf({ ...left, isUnsigned }), valueOf({ ...right, isUnsigned })];
  const divisor = (): bigint => {
    if (b === 0n) throw new Refusal("invalid_ptx", operator, "a constant is divided by zero");
    return b;
  };
  // A count of 64 and more shifts everything out, as the device's own shifts do.
  const count = right.bits > 64n ? 64n : right.bits;
  const results: Record<string, () => bigint> = {
    "|": () => a | b,
    "^": () => a ^ b,
    "&": () => a & b,
    "<<": () => a << count,
    ">>": () => valueOf(left) >> count,
    "+": () => a + b,
    "-": () => a - b,
    "*": () => a * b,
    "/": () => a / divisor(),
    "%": () => a % divisor(),
  };
  const result = results[operator.text];
  if (result === undefined) throw new Refusal("invalid_ptx", operator, "unknown operator");
  return { bits: wrap(result()), isUnsigned };
}

function parseUnary(cursor: Cursor, depth: number): Integer {
  if (depth > NESTING_DEPTH_MAX) {
    throw cursor.refuse("limit_exceeded", `a constant nests deeper than ${NESTING_DEPTH_MAX}`);
  }
  const { current } = cursor;
  if (current.kind === "integer") return integerOf(cursor.take());
  if (cursor.accept("(")) {
    const value = parseLevel(cursor, 0, depth + 1);
    cursor.expect(")");
    return value;
  }
  if (cursor.accept("+")) return parseUnary(cursor, depth + 1);
  if (cursor.accept("-")) {
    const value = parseUnary(cursor, depth + 1);
    return { ...value, bits: wrap(-value.bits) };
  }
  if (cursor.accept("~")) {
    const value = parseUnary(cursor, depth + 1);
    return { ...value, bits: wrap(~value.bits) };
  }
  if (cursor.accept("!")) {
    const value = parseUnary(cursor, depth + 1);
    return { bits: value.bits === 0n ? 1n : 0n, isUnsigned: false };
  }
  throw cursor.unexpected("an integer");
}

function parseLevel(cursor: Cursor, level: number, depth: number): Integer {
  const operators = LEVELS[level];
  if (operators === undefined) return parseUnary(cursor, depth);
  let left = parseLevel(cursor, level + 1, depth);
  while (cursor.current.kind === "mark" && operators.includes(cursor.current.text)) {
    const operator = cursor.take();
    left = combine(operator, left, parseLevel(cursor, level + 1, depth));
  }
  return left;
}

/** An integer constant expression, wrapped to 64 bits. */
export function parseInteger(cursor: Cursor): bigint {
  return parseLevel(cursor, 0, 0).bits;
}

/** An integer constant expression that must lie in [0, max]. */
export function parseCount(cursor: Cursor, max: number): number {
  const token = cursor.current;
  const value = parseInteger(cursor);
  if (value > BigInt(max)) {
    const message = `${value.toString()} is too large; at most ${max} is possible here`;
    throw new Refusal("limit_exceeded", token, message);
  }
  return Number(value);
}

/** A constant: an integer expression, or one floating-point number with an optional sign. */
export function parseLiteral(cursor: Cursor): Literal {
  const isSigned = cursor.is("-") || cursor.is("+");
  if (isSigned && cursor.following.kind === "float") {
    const isNegative = cursor.take().text === "-";
    const literal = floatOf(cursor.take());
    if (!isNegative || literal.kind !== "float") return literal;
    return { ...literal, bits: literal.bits ^ (1n << BigInt(literal.width - 1)) };
  }
  if (cursor.isKind("float")) return floatOf(cursor.take());
  return { kind: "integer", bits: parseInteger(cursor) };
}
