import { err, ok, type Result } from "../../base/mod.ts";
import type { FunctionNode, Linkage, ModuleNode, PerformanceDirective } from "./ast.ts";
import { Cursor } from "./cursor.ts";
import { Refusal, toDiagnostic, type Diagnostic } from "./diagnostic.ts";
import { PTX_TEXT_LENGTH_MAX, PTX_VERSION_MAX } from "./limits.ts";
import { parseCount, startsConstant } from "./parse-constant.ts";
import { parseParameters, parseVariables, startsVariable } from "./parse-declaration.ts";
import { parseBlock, parseDirective } from "./parse-statement.ts";

/** Values of performance directives are sizes of blocks and clusters, and numbers of registers. */
const DIRECTIVE_VALUE_MAX = 0x7fffffff;

const LINKAGES: Readonly<Record<string, Linkage>> = {
  ".extern": "extern",
  ".visible": "visible",
  ".weak": "weak",
  ".common": "common",
};

function parseVersion(cursor: Cursor): [number, number] {
  if (!cursor.is(".version")) throw cursor.unexpected("'.version', which starts every PTX text");
  cursor.take();
  const token = cursor.expectKind("float", "a version such as 8.0");
  const [major = 0, minor = 0] = token.text.split(".").map(Number);
  const [majorMax, minorMax] = PTX_VERSION_MAX;
  if (major > majorMax || (major === majorMax && minor > minorMax)) {
    const newest = `${majorMax}.${minorMax}`;
    const message = `PTX ${token.text} is newer than ${newest}, the newest known here`;
    throw new Refusal("unsupported_ptx_version", token, message);
  }
  return [major, minor];
}

function parseTargets(cursor: Cursor): string[] {
  if (!cursor.is(".target")) throw cursor.unexpected("'.target'");
  cursor.take();
  const targets: string[] = [];
  do targets.push(cursor.expectKind("word", "a target such as sm_75").text);
  while (cursor.accept(","));
  return targets;
}

function parseAddressBits(cursor: Cursor): 32 | 64 {
  const token = cursor.expectKind("integer", "32 or 64");
  if (token.text === "32") return 32;
  if (token.text === "64") return 64;
  throw new Refusal("invalid_ptx", token, `found '${token.text}', expected 32 or 64`);
}

function parseDirectives(cursor: Cursor): PerformanceDirective[] {
  const directives: PerformanceDirective[] = [];
  for (;;) {
    // A .pragma between the head and the body is a hint, and is dropped.
    if (cursor.is(".pragma") && parseDirective(cursor) !== null) continue;
    if (!cursor.isKind("dotted")) return directives;
    const { text, line, column } = cursor.take();
    const values: number[] = [];
    if (startsConstant(cursor)) {
      do values.push(parseCount(cursor, DIRECTIVE_VALUE_MAX));
      while (cursor.accept(","));
    }
    directives.push({ name: text.slice(1), values, position: { line, column } });
  }
}

function parseFunction(cursor: Cursor, linkage: Linkage): FunctionNode {
  const isEntry = cursor.take().text === ".entry";
  const returns = !isEntry && cursor.accept("(") ? parseParameters(cursor) : [];
  const { text: name, line, column } = cursor.expectKind("word", "the function's name");
  const parameters = cursor.accept("(") ? parseParameters(cursor) : [];
  const directives = parseDirectives(cursor);
  const head = { kind: "function", linkage, isEntry, name, returns, parameters } as const;
  const rest = { directives, position: { line, column } };
  if (cursor.accept(";")) return { ...head, ...rest, body: null };
  if (!cursor.is("{")) throw cursor.unexpected("'{' or ';' after the function's head");
  return { ...head, ...rest, body: parseBlock(cursor, 0) };
}

function parseItems(cursor: Cursor): ModuleNode["items"] {
  const items: ModuleNode["items"][number][] = [];
  while (!cursor.isKind("end")) {
    if (cursor.accept(";")) continue;
    const linkage = LINKAGES[cursor.current.text] ?? "none";
    if (linkage !== "none") cursor.take();
    if (startsVariable(cursor)) {
      for (const variable of parseVariables(cursor, linkage)) items.push(variable);
    } else if (cursor.is(".entry") || cursor.is(".func")) {
      items.push(parseFunction(cursor, linkage));
    } else {
      const directive = linkage === "none" ? parseDirective(cursor) : null;
      if (directive === null) throw cursor.unexpected("'.entry', '.func' or a variable");
      items.push(directive);
    }
  }
  return items;
}

function parseModule(text: string): ModuleNode {
  if (text.length > PTX_TEXT_LENGTH_MAX) {
    const message = `the text has ${text.length} characters; at most ${PTX_TEXT_LENGTH_MAX}`;
    throw new Refusal("limit_exceeded", { line: 1, column: 1 }, message);
  }
  const cursor = new Cursor(text);
  const version = parseVersion(cursor);
  const targets = parseTargets(cursor);
  const addressBits = cursor.accept(".address_size") ? parseAddressBits(cursor) : 32;
  return { version, targets, addressBits, items: parseItems(cursor), text };
}

/** Runs `work`, and turns a refusal into the diagnostic that it stands for. */
export function catchRefusal<T>(fileName: string, work: () => T): Result<T, Diagnostic> {
  try {
    return ok(work());
  } catch (error) {
    if (error instanceof Refusal) return err(toDiagnostic(error, fileName));
    throw error;
  }
}

/**
 * Parses PTX text as PTX ISA 1.0 to 9.0 has it. `fileName` is only what messages call it. The first
 * thing that is wrong is the error; names, types and instructions are not checked here.
 */
export function parsePtx(text: string, fileName: string): Result<ModuleNode, Diagnostic> {
  return catchRefusal(fileName, () => parseModule(text));
}
