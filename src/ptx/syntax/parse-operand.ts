import type { OperandNode } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { parseInteger, parseLiteral, startsConstant } from "./parse-constant.ts";

/** Separated by commas, up to the token `closing`, which is stepped over. */
function parseList(
  cursor: Cursor,
  closing: string,
  parseOne: (cursor: Cursor) => OperandNode,
): OperandNode[] {
  const elements: OperandNode[] = [];
  if (cursor.accept(closing)) return elements;
  do elements.push(parseOne(cursor));
  while (cursor.accept(","));
  cursor.expect(closing);
  return elements;
}

/** `+4` or `-4` behind a name; 0 where there is none. */
function parseOffset(cursor: Cursor): bigint {
  if (!cursor.is("+") && !cursor.is("-")) return 0n;
  if (cursor.is("+")) cursor.take();
  return BigInt.asIntN(64, parseInteger(cursor));
}

/** `.x` of `%tid.x`: only where it touches the name, so that no modifier is taken for one. */
function parseComponent(cursor: Cursor, nameEnd: number): string | null {
  if (!cursor.isKind("dotted") || cursor.current.start !== nameEnd) return null;
  return cursor.take().text.slice(1);
}

/** A constant, a name or the sink: what a vector, a group or an address is made of. */
function parseSimple(cursor: Cursor): OperandNode {
  const { position } = cursor;
  if (startsConstant(cursor)) {
    const literal = parseLiteral(cursor);
    if (literal.kind === "integer") return { kind: "integer", bits: literal.bits, position };
    return { kind: "float", bits: literal.bits, width: literal.width, position };
  }
  if (cursor.accept("!")) {
    const { text } = cursor.expectKind("word", "a predicate register after '!'");
    return { kind: "negated", name: text, position };
  }
  const word = cursor.expectKind("word", "an operand");
  if (word.text === "_") return { kind: "sink", position };
  const component = parseComponent(cursor, word.end);
  return { kind: "name", name: word.text, component, offset: parseOffset(cursor), position };
}

function parseAddressPart(cursor: Cursor): OperandNode {
  const { position } = cursor;
  if (!cursor.accept("{")) return parseSimple(cursor);
  return { kind: "vector", elements: parseList(cursor, "}", parseSimple), position };
}

/** One operand of an instruction. */
export function parseOperand(cursor: Cursor): OperandNode {
  const { position } = cursor;
  if (cursor.accept("[")) {
    return { kind: "memory", parts: parseList(cursor, "]", parseAddressPart), position };
  }
  if (cursor.accept("{")) {
    return { kind: "vector", elements: parseList(cursor, "}", parseSimple), position };
  }
  if (cursor.is("(") && (cursor.following.kind === "word" || cursor.following.text === ")")) {
    cursor.take();
    return { kind: "group", elements: parseList(cursor, ")", parseSimple), position };
  }
  const first = parseSimple(cursor);
  if (!cursor.accept("|")) return first;
  return { kind: "pair", first, second: parseSimple(cursor), position };
}
