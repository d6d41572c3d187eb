import type {
  BlockNode,
  BranchTargetsNode,
  DirectiveNode,
  GuardNode,
  InstructionNode,
  LabelNode,
  OperandNode,
  StatementNode,
} from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { NESTING_DEPTH_MAX } from "./limits.ts";
import { parseVariables, startsVariable } from "./parse-declaration.ts";
import { parseOperand } from "./parse-operand.ts";
import type { Token } from "./token.ts";

const positionOf = ({ line, column }: Token): { line: number; column: number } => ({
  line,
  column,
});

/** Steps over tokens while they stand on the line of `first`. */
function takeLine(cursor: Cursor, first: Token): number {
  let { end } = first;
  while (!cursor.isKind("end") && cursor.current.line === first.line) end = cursor.take().end;
  return end;
}

/** Steps over tokens up to `;`, which is left. */
function takeStatement(cursor: Cursor, first: Token): number {
  let { end } = first;
  while (!cursor.is(";") && !cursor.isKind("end")) end = cursor.take().end;
  return end;
}

/** Steps over `{ … }` with what nests in it. */
function takeBraces(cursor: Cursor): number {
  cursor.expect("{");
  for (let depth = 1; ;) {
    if (cursor.isKind("end")) throw cursor.unexpected("'}'");
    if (cursor.is("{")) depth += 1;
    if (cursor.is("}")) depth -= 1;
    const { end } = cursor.take();
    if (depth === 0) return end;
  }
}

/**
 * `.loc`, `.file`, `.section`, `.pragma` and their like: debugging, and hints to the assembler.
 * Null where none starts here.
 */
export function parseDirective(cursor: Cursor): DirectiveNode | null {
  const first = cursor.current;
  const position = positionOf(first);
  const node = (end: number): DirectiveNode => {
    const text = cursor.text.slice(first.start, end);
    return { kind: "directive", name: first.text, text, position };
  };
  switch (first.text) {
    case ".loc":
    case ".file":
      return node(takeLine(cursor, cursor.take()));
    case "@":
      // `@@DWARF …`, line by line: how PTX 1.x carried debugging data.
      if (cursor.following.text !== "@") return null;
      return node(takeLine(cursor, cursor.take()));
    case ".section": {
      cursor.take();
      while (!cursor.is("{") && !cursor.isKind("end")) cursor.take();
      return node(takeBraces(cursor));
    }
    case ".pragma":
    case ".alias": {
      const end = takeStatement(cursor, cursor.take());
      cursor.expect(";");
      return node(end);
    }
    default:
      return null;
  }
}

function parseGuard(cursor: Cursor): GuardNode | null {
  if (!cursor.is("@")) return null;
  const position = positionOf(cursor.take());
  const negated = cursor.accept("!");
  const { text } = cursor.expectKind("word", "a predicate register after '@'");
  return { name: text, negated, ...position };
}

function parseInstruction(cursor: Cursor): InstructionNode {
  const { start } = cursor.current;
  const guard = parseGuard(cursor);
  const opcode = cursor.expectKind("word", guard === null ? "a statement" : "an instruction");
  const modifiers: string[] = [];
  while (cursor.isKind("dotted")) modifiers.push(cursor.take().text.slice(1));
  const operands: OperandNode[] = [];
  if (!cursor.is(";")) {
    do operands.push(parseOperand(cursor));
    while (cursor.accept(","));
  }
  if (!cursor.is(";")) throw cursor.unexpected("',' or ';' after the operand");
  const { end } = cursor.take();
  const position = positionOf(opcode);
  const { text } = opcode;
  return { kind: "instruction", guard, opcode: text, modifiers, operands, position, start, end };
}

function parseLabel(cursor: Cursor): LabelNode | BranchTargetsNode {
  const name = cursor.take();
  const position = positionOf(name);
  cursor.expect(":");
  const { current } = cursor;
  if (![".branchtargets", ".calltargets", ".callprototype"].includes(current.text)) {
    return { kind: "label", name: name.text, position };
  }
  const end = takeStatement(cursor, cursor.take());
  cursor.expect(";");
  const text = cursor.text.slice(current.start, end);
  return { kind: "table", name: name.text, text, position };
}

function parseStatement(cursor: Cursor, depth: number): StatementNode[] {
  if (cursor.is("{")) return [parseBlock(cursor, depth + 1)];
  if (cursor.accept(";")) return [];
  if (startsVariable(cursor)) return parseVariables(cursor, "none");
  if (cursor.isKind("word") && cursor.following.text === ":") return [parseLabel(cursor)];
  const directive = parseDirective(cursor);
  if (directive !== null) return [directive];
  return [parseInstruction(cursor)];
}

/** `{ … }` of statements. */
export function parseBlock(cursor: Cursor, depth: number): BlockNode {
  if (depth > NESTING_DEPTH_MAX) {
    throw cursor.refuse("limit_exceeded", `blocks nest deeper than ${NESTING_DEPTH_MAX}`);
  }
  const position = positionOf(cursor.expect("{"));
  const statements: StatementNode[] = [];
  while (!cursor.is("}")) {
    if (cursor.isKind("end")) throw cursor.unexpected("'}'");
    for (const statement of parseStatement(cursor, depth)) statements.push(statement);
  }
  cursor.take();
  return { kind: "block", statements, position };
}
