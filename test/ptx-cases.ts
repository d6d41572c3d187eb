/**
 * Text files as tests of an engine: PTX with the expectation in its comments.
 *
 *   // run: kernel=add grid=1 block=4 in=u32:1,2,3,4 out=u32:2,4,6,8
 *   // run: kernel=wild block=1 out=u32:0 fault=700 line=12
 *   add.u8 %r1, %r2, %r3;  // error: PTX has no form
 *
 * Arguments stand in the order of the kernel's parameters. `in` is a pointer to these values, `out` a
 * pointer to zeros that must become these values, `inout` both (`inout=u32:1,2>3,4`); a type alone
 * (`u32=5`) is a scalar, and `bytes=0x0102…` a structure. `7*64` is a value 64 times; floats are decimal, `nan`, `inf`, `-inf` or bits
 * (`0x7f800000`). `out=f32~2:` allows an error of 2 units in the last place. `grid`, `block` are
 * `x`, `x,y` or `x,y,z`, 1 where missing; `shared` is dynamic shared memory in bytes.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  compileFront,
  DATA_TYPE_BYTES,
  formatDiagnostic,
  type DataType,
  type Diagnostic,
  type Dimensions,
  type Kernel,
  type PtxModule,
} from "../src/ptx/mod.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const CASES_FOLDER = join(ROOT, "test", "ptx");

/** What an engine is asked to do. It gives back the buffers as the kernel left them, in order. */
export type EngineRequest = {
  readonly module: PtxModule;
  readonly kernel: Kernel;
  readonly grid: Dimensions;
  readonly block: Dimensions;
  readonly dynamicSharedBytes: number;
  readonly arguments: readonly EngineArgument[];
};

/** A buffer stands for a pointer to a copy of its bytes; a scalar for its bytes themselves. */
export type EngineArgument = { readonly kind: "buffer" | "scalar"; readonly bytes: Uint8Array };

export type EngineOutcome =
  | { readonly kind: "finished"; readonly buffers: readonly Uint8Array[] }
  | { readonly kind: "fault"; readonly code: number; readonly line: number };

/** Runs one kernel once. */
export type Engine = (request: EngineRequest) => EngineOutcome | Promise<EngineOutcome>;

type Values = { readonly type: DataType; readonly ulps: number; readonly bits: readonly bigint[] };

type CaseArgument = {
  readonly kind: "buffer" | "scalar";
  readonly given: Uint8Array;
  readonly expected: Values | null;
};

/** One `// run:` line. */
export type RunCase = {
  readonly fileName: string;
  readonly line: number;
  readonly text: string;
  readonly kernel: string;
  readonly grid: Dimensions;
  readonly block: Dimensions;
  readonly dynamicSharedBytes: number;
  readonly arguments: readonly CaseArgument[];
  readonly fault: { readonly code: number; readonly line: number | null } | null;
};

/** One file: its text, its runs, and the diagnostics that it must give. */
export type CaseFile = {
  readonly fileName: string;
  readonly text: string;
  readonly runs: readonly RunCase[];
  readonly errors: readonly { readonly line: number; readonly fragment: string }[];
};

const view = new DataView(new ArrayBuffer(8));

function bitsOf(type: DataType, text: string): bigint {
  const width = DATA_TYPE_BYTES[type] * 8;
  if (!type.startsWith("f") || text.startsWith("0x")) {
    const isNegative = text.startsWith("-");
    const magnitude = BigInt(isNegative ? text.slice(1) : text);
    return BigInt.asUintN(width, isNegative ? -magnitude : magnitude);
  }
  const words: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, "-inf": -Infinity };
  const value = words[text] ?? Number(text);
  assert.ok(text === "nan" || !Number.isNaN(value), `'${text}' is no number`);
  if (type === "f64") view.setFloat64(0, value);
  else view.setFloat32(0, value);
  return type === "f64" ? view.getBigUint64(0) : BigInt(view.getUint32(0));
}

/** What `nan` in an expectation stands for: every NaN. Which NaN is checked by writing its bits. */
const ANY_NAN = -1n;

function parseList(type: DataType, text: string): bigint[] {
  return text.split(",").flatMap((item) => {
    const [value = "", count = "1"] = item.split("*");
    return new Array<bigint>(Number(count)).fill(bitsOf(type, value));
  });
}

function encode(type: DataType, bits: readonly bigint[]): Uint8Array {
  const size = DATA_TYPE_BYTES[type];
  const bytes = new Uint8Array(bits.length * size);
  for (const [index, value] of bits.entries()) {
    view.setBigUint64(0, value, true);
    bytes.set(new Uint8Array(view.buffer, 0, size), index * size);
  }
  return bytes;
}

function decode(type: DataType, bytes: Uint8Array): bigint[] {
  const size = DATA_TYPE_BYTES[type];
  return Array.from({ length: bytes.length / size }, (_, index) => {
    view.setBigUint64(0, 0n);
    new Uint8Array(view.buffer).set(bytes.subarray(index * size, (index + 1) * size));
    return view.getBigUint64(0, true);
  });
}

function typeOf(word: string): DataType {
  assert.ok(Object.hasOwn(DATA_TYPE_BYTES, word), `'${word}' is a type`);
  return word as DataType;
}

function parseBuffer(key: string, value: string): CaseArgument {
  const [head = "", list = ""] = value.split(":");
  const [word = "", ulps = "0"] = head.split("~");
  const type = typeOf(word);
  const [before = "", after] = list.split(">");
  const expectedText = key === "inout" ? after : key === "out" ? before : undefined;
  const first = parseList(type, before);
  const given = encode(type, key === "out" ? first.map(() => 0n) : first);
  if (expectedText === undefined) return { kind: "buffer", given, expected: null };
  const bits = expectedText
    .split(",")
    .flatMap((item) => (item === "nan" ? [ANY_NAN] : parseList(type, item)));
  const expected = { type, ulps: Number(ulps), bits };
  return { kind: "buffer", given, expected };
}

function parseDimensions(text: string | undefined): Dimensions {
  const [x = 1, y = 1, z = 1] = (text ?? "1").split(",").map(Number);
  return [x, y, z];
}

const SETTINGS = new Set(["kernel", "grid", "block", "shared", "fault", "line"]);

function parseRun(fileName: string, line: number, text: string): RunCase {
  const settings = new Map<string, string>();
  const args: CaseArgument[] = [];
  for (const word of text.trim().split(/\s+/)) {
    const at = word.indexOf("=");
    const [key, value] = [word.slice(0, at), word.slice(at + 1)] as const;
    if (SETTINGS.has(key)) settings.set(key, value);
    else if (key === "in" || key === "out" || key === "inout") args.push(parseBuffer(key, value));
    else if (key === "bytes") {
      const given = Uint8Array.from(Buffer.from(value.replace(/^0x/, ""), "hex"));
      args.push({ kind: "scalar", given, expected: null });
    } else {
      const type = typeOf(key);
      args.push({ kind: "scalar", given: encode(type, [bitsOf(type, value)]), expected: null });
    }
  }
  const code = settings.get("fault");
  const faultLine = settings.get("line");
  return {
    fileName,
    line,
    text,
    kernel: settings.get("kernel") ?? "main",
    grid: parseDimensions(settings.get("grid")),
    block: parseDimensions(settings.get("block")),
    dynamicSharedBytes: Number(settings.get("shared") ?? "0"),
    arguments: args,
    fault:
      code === undefined
        ? null
        : { code: Number(code), line: faultLine === undefined ? null : Number(faultLine) },
  };
}

/** Reads one test file. */
export function parseCaseFile(fileName: string, text: string): CaseFile {
  const runs: RunCase[] = [];
  const errors: { line: number; fragment: string }[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const run = /^\/\/ run: (.*)$/.exec(line)?.[1];
    const fragment = /\/\/ error: (.*)$/.exec(line)?.[1];
    if (run !== undefined) runs.push(parseRun(fileName, index + 1, run));
    if (fragment !== undefined) errors.push({ line: index + 1, fragment: fragment.trim() });
  }
  return { fileName, text, runs, errors };
}

/** All test files, in the order of their names. */
export function readCaseFiles(): CaseFile[] {
  return readdirSync(CASES_FOLDER)
    .filter((name) => name.endsWith(".ptx"))
    .sort()
    .map((name) => parseCaseFile(name, readFileSync(join(CASES_FOLDER, name), "utf8")));
}

/** All that the front end says against a file: once for the module, or once for each kernel. */
export function diagnose(file: CaseFile): Diagnostic[] {
  const module = compileFront(file.text, file.fileName);
  if (!module.ok) return [module.error];
  return module.value.entries.flatMap((entry) => {
    const kernel = entry.lower();
    return kernel.ok ? [] : [kernel.error];
  });
}

/** Fails unless the diagnostics are exactly those that the file announces. */
export function checkErrors(file: CaseFile): void {
  const found = diagnose(file);
  for (const { line, fragment } of file.errors) {
    const isFound = found.some((one) => one.line === line && one.message.includes(fragment));
    const all = found.map(formatDiagnostic).join("\n");
    assert.ok(isFound, `${file.fileName}:${String(line)}: no error '${fragment}' among:\n${all}`);
  }
  assert.equal(found.length, file.errors.length, found.map(formatDiagnostic).join("\n"));
}

/** A float's bits as a number on a line where neighbours differ by one. */
function ordinal(type: DataType, bits: bigint): bigint {
  const sign = 1n << BigInt(DATA_TYPE_BYTES[type] * 8 - 1);
  return bits >= sign ? -(bits - sign) : bits;
}

function isNanBits(type: DataType, bits: bigint): boolean {
  if (type === "f32") return (bits & 0x7fffffffn) > 0x7f800000n;
  return type === "f64" && (bits & 0x7fffffffffffffffn) > 0x7ff0000000000000n;
}

function agrees({ type, ulps }: Values, expected: bigint, found: bigint): boolean {
  if (expected === ANY_NAN) return isNanBits(type, found);
  if (expected === found) return true;
  if (isNanBits(type, expected) || isNanBits(type, found)) return false;
  const distance = ordinal(type, expected) - ordinal(type, found);
  return ulps > 0 && (distance < 0n ? -distance : distance) <= BigInt(ulps);
}

function checkBuffer(where: string, expected: Values, bytes: Uint8Array): void {
  const found = decode(expected.type, bytes);
  const hex = (bits: bigint | undefined): string => `0x${(bits ?? 0n).toString(16)}`;
  for (const [index, bits] of expected.bits.entries()) {
    const message = `${where}: element ${String(index)} is ${hex(found[index])}, not ${hex(bits)}`;
    assert.ok(agrees(expected, bits, found[index] ?? -1n), message);
  }
}

/** Runs one case on an engine, and fails unless what it leaves is what the case says. */
export async function checkRun(file: CaseFile, run: RunCase, engine: Engine): Promise<void> {
  const where = `${run.fileName}:${String(run.line)}`;
  const module = compileFront(file.text, file.fileName);
  assert.ok(module.ok, module.ok ? "" : formatDiagnostic(module.error));
  const entry = module.value.entries.find(({ name }) => name === run.kernel);
  assert.ok(entry !== undefined, `${where}: there is no kernel '${run.kernel}'`);
  const kernel = entry.lower();
  assert.ok(kernel.ok, kernel.ok ? "" : formatDiagnostic(kernel.error));
  const { grid, block, dynamicSharedBytes } = run;
  const args = run.arguments.map(({ kind, given }) => ({ kind, bytes: given }));
  const launch = { grid, block, dynamicSharedBytes, arguments: args };
  const outcome = await engine({ module: module.value, kernel: kernel.value, ...launch });
  if (run.fault !== null) {
    if (outcome.kind !== "fault") assert.fail(`${where}: no fault`);
    const { code, line } = outcome;
    assert.deepEqual({ code, line }, { code: run.fault.code, line: run.fault.line ?? line }, where);
    return;
  }
  if (outcome.kind !== "finished") assert.fail(`${where}: ${JSON.stringify(outcome)}`);
  const { buffers } = outcome;
  const expectations = run.arguments.filter(({ kind }) => kind === "buffer");
  assert.equal(buffers.length, expectations.length, `${where}: buffers`);
  for (const [index, { expected }] of expectations.entries()) {
    if (expected !== null) checkBuffer(where, expected, buffers[index] ?? new Uint8Array());
  }
}

/** The parameter block of a kernel, given each argument's bytes. */
export function parameterBlock(kernel: Kernel, values: readonly Uint8Array[]): Uint8Array {
  assert.equal(values.length, kernel.parameters.length, `arguments of ${kernel.name}`);
  const block = new Uint8Array(kernel.parameterBytes);
  for (const [index, { offset, bytes, name }] of kernel.parameters.entries()) {
    const value = values[index] ?? new Uint8Array();
    assert.equal(value.length, bytes, `bytes of '${name}'`);
    block.set(value, offset);
  }
  return block;
}
