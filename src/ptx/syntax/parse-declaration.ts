import type { InitialiserNode, Linkage, VariableNode } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { NESTING_DEPTH_MAX, REGISTERS_MAX, VARIABLE_BYTES_MAX } from "./limits.ts";
import { parseCount, parseInteger, parseLiteral, startsConstant } from "./parse-constant.ts";

/** Spaces that a variable may be declared in; `.tex` is PTX 1.x. */
const SPACES = new Set([".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared"]);
SPACES.add(".tex").add(".shared::cta").add(".shared::cluster");

const TYPE =
  /^\.(?:pred|[bus](?:8|16|32|64|128)|f(?:16|32|64)|bf16|b?f16x2|tf32|(?:tex|sampler|surf)ref)$/;

const VECTOR_LENGTHS = { ".v2": 2, ".v4": 4, ".v8": 8 } as const;

/** True where a variable declaration starts (its linkage aside). */
export function startsVariable(cursor: Cursor): boolean {
  return cursor.isKind("dotted") && SPACES.has(cursor.current.text);
}

function parseAddressInitialiser(cursor: Cursor): InitialiserNode {
  const { position } = cursor;
  const isGeneric = cursor.is("generic") && cursor.following.text === "(";
  if (isGeneric) {
    cursor.take();
    cursor.take();
  }
  const name = cursor.expectKind("word", "a number, a name or '{'").text;
  if (isGeneric) cursor.expect(")");
  const hasOffset = cursor.is("+") || cursor.is("-");
  if (cursor.is("+")) cursor.take();
  const offset = hasOffset ? BigInt.asIntN(64, parseInteger(cursor)) : 0n;
  return { kind: "address", name, offset, isGeneric, mask: null, position };
}

function parseInitialiser(cursor: Cursor, depth: number): InitialiserNode {
  const { position } = cursor;
  if (depth > NESTING_DEPTH_MAX) {
    throw cursor.refuse("limit_exceeded", `an initialiser nests deeper than ${NESTING_DEPTH_MAX}`);
  }
  if (cursor.accept("{")) {
    const elements: InitialiserNode[] = [];
    while (!cursor.is("}")) {
      elements.push(parseInitialiser(cursor, depth + 1));
      if (!cursor.accept(",")) break;
    }
    cursor.expect("}");
    return { kind: "list", elements, position };
  }
  if (!startsConstant(cursor)) return parseAddressInitialiser(cursor);
  const literal = parseLiteral(cursor);
  // `0xff(symbol)`: one byte of an address.
  if (literal.kind !== "integer" || !cursor.accept("(")) return { ...literal, position };
  const address = parseAddressInitialiser(cursor);
  cursor.expect(")");
  if (address.kind !== "address") throw cursor.unexpected("a name");
  return { ...address, mask: literal.bits, position };
}

/** What is said before the name; several names may share it. */
type Head = Pick<VariableNode, "space" | "alignment" | "vectorLength" | "type" | "pointer">;

/** `.ptr .global .align 4`; everything but `.ptr` may be missing. */
function parsePointer(cursor: Cursor): VariableNode["pointer"] {
  if (!cursor.accept(".ptr")) return null;
  const isSpace = cursor.isKind("dotted") && !cursor.is(".align");
  const space = isSpace ? cursor.take().text.slice(1) : null;
  const alignment = cursor.accept(".align") ? parseCount(cursor, VARIABLE_BYTES_MAX) : null;
  return { space, alignment };
}

/** `.attribute(.managed)`: where memory lives does not change what is computed. */
function skipAttribute(cursor: Cursor): void {
  if (!cursor.accept(".attribute")) return;
  cursor.expect("(");
  while (!cursor.is(")") && !cursor.isKind("end")) cursor.take();
  cursor.expect(")");
}

function parseHead(cursor: Cursor): Head {
  const space = cursor.take().text.slice(1);
  if (cursor.accept("[")) {
    // `.const[2]`: the banks of PTX 1.x and 2.1; all are one space here.
    parseCount(cursor, 10);
    cursor.expect("]");
  }
  let alignment: number | null = null;
  let vectorLength: VariableNode["vectorLength"] = 1;
  let type: string | null = null;
  // The order of .align, the vector length and the type is not kept by all producers.
  while (cursor.isKind("dotted") && !cursor.is(".ptr")) {
    const { text } = cursor.current;
    if (text === ".attribute") skipAttribute(cursor);
    else if (cursor.accept(".align")) alignment = parseCount(cursor, VARIABLE_BYTES_MAX);
    else if (text === ".v2" || text === ".v4" || text === ".v8") {
      cursor.take();
      vectorLength = VECTOR_LENGTHS[text];
    } else if (TYPE.test(text) && type === null) type = cursor.take().text.slice(1);
    else throw cursor.unexpected(type === null ? "a type" : "a name");
  }
  if (type === null) throw cursor.unexpected("a type");
  return { space, alignment, vectorLength, type, pointer: parsePointer(cursor) };
}

function parseDimensions(cursor: Cursor): (number | null)[] {
  const dimensions: (number | null)[] = [];
  while (cursor.accept("[")) {
    dimensions.push(cursor.is("]") ? null : parseCount(cursor, VARIABLE_BYTES_MAX));
    cursor.expect("]");
  }
  return dimensions;
}

function parseOne(cursor: Cursor, linkage: Linkage, head: Head): VariableNode {
  const { text: name, line, column } = cursor.expectKind("word", "a name");
  let registerCount: number | null = null;
  if (cursor.accept("<")) {
    const count = cursor.expectKind("integer", "a number of registers");
    registerCount = Number(count.text);
    if (registerCount > REGISTERS_MAX) {
      throw cursor.refuse("limit_exceeded", `more than ${REGISTERS_MAX} registers`);
    }
    cursor.expect(">");
  }
  const dimensions = parseDimensions(cursor);
  const initialiser = cursor.accept("=") ? parseInitialiser(cursor, 0) : null;
  const position = { line, column };
  const rest = { name, registerCount, dimensions, initialiser, position };
  return { kind: "variable", linkage, ...head, ...rest };
}

/** `.reg .b32 %r<5>, %x;` and its like, one node for each name, with the semicolon. */
export function parseVariables(cursor: Cursor, linkage: Linkage): VariableNode[] {
  const head = parseHead(cursor);
  const variables = [parseOne(cursor, linkage, head)];
  while (cursor.accept(",")) variables.push(parseOne(cursor, linkage, head));
  cursor.expect(";");
  return variables;
}

/** `(.param .u64 a, .param .b8 b[8])`, the opening parenthesis being stepped over already. */
export function parseParameters(cursor: Cursor): VariableNode[] {
  const parameters: VariableNode[] = [];
  if (cursor.accept(")")) return parameters;
  do {
    if (!startsVariable(cursor)) throw cursor.unexpected("'.param'");
    parameters.push(parseOne(cursor, "none", parseHead(cursor)));
  } while (cursor.accept(","));
  cursor.expect(")");
  return parameters;
}
