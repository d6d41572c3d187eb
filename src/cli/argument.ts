/** `--arg`: kernel arguments as text. Pure: files are named here, and looked at elsewhere. */
import { err, ok, type Result } from "../base/mod.ts";
import { SCALAR_BYTES, type Pattern, type ScalarType } from "../owner/mod.ts";
import { ARGUMENT_FORMS } from "./argument-forms.ts";
import { parseScalar, SCALAR_TYPES } from "./scalar.ts";
import { parseSize, SIZE_MAX } from "./size.ts";

/** Arguments of one kernel: CUDA's parameter block is 4 KiB, an argument 8 bytes at most. */
export const ARGUMENTS_MAX = 512;

/** The elements of a buffer, where its author said what they are. */
export type Elements = { readonly type: ScalarType; readonly count: number };

export type BufferInput =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "pattern"; readonly pattern: Pattern }
  | { readonly kind: "zero" };

export type BufferOutput =
  /** Not wanted back. */
  | { readonly kind: "none" }
  | { readonly kind: "file"; readonly path: string }
  /** Its first elements are shown. */
  | { readonly kind: "preview" };

export type KernelArgumentText =
  | { readonly kind: "scalar"; readonly type: ScalarType; readonly value: string }
  | {
      readonly kind: "buffer";
      /** Null: as many as the input file holds. */
      readonly bytes: number | null;
      readonly elements: Elements | null;
      readonly input: BufferInput;
      readonly output: BufferOutput;
    };

type Parsed = Result<KernelArgumentText, string>;

/** Reads all of them; the error names the argument by number, and the forms it may have. */
export function parseArguments(
  texts: readonly string[],
): Result<readonly KernelArgumentText[], string> {
  if (texts.length > ARGUMENTS_MAX) return err(`more than ${ARGUMENTS_MAX} arguments`);
  const parsed: KernelArgumentText[] = [];
  for (const [index, text] of texts.entries()) {
    const argument = parseArgument(text);
    if (!argument.ok) return err(`argument ${index + 1} '${text}': ${argument.error}`);
    parsed.push(argument.value);
  }
  return ok(parsed);
}

/** Reads one. */
export function parseArgument(text: string): Parsed {
  const colon = text.indexOf(":");
  const kind = text.slice(0, Math.max(colon, 0));
  const rest = text.slice(colon + 1);
  const type = SCALAR_TYPES.find((each) => each === kind);
  if (type !== undefined) {
    const value = parseScalar(type, rest);
    return value.ok ? ok({ kind: "scalar", type, value: value.value }) : value;
  }
  switch (kind) {
    case "in":
      return parseIn(rest);
    case "out":
      return parseOut(rest);
    case "inout":
      return parseInout(rest);
    default: {
      const { scalar, in: input, out, inout } = ARGUMENT_FORMS;
      return err(`unknown form; write ${scalar}; ${input}; ${out}; ${inout}`);
    }
  }
}

function parseIn(rest: string): Parsed {
  if (rest.startsWith("@")) {
    const path = rest.slice(1);
    if (path === "") return err(`no file name; write ${ARGUMENT_FORMS.in}`);
    return ok(fileBuffer(path, { kind: "none" }));
  }
  return parseGenerated(rest, ARGUMENT_FORMS.in, { kind: "none" });
}

function parseInout(rest: string): Parsed {
  const form = ARGUMENT_FORMS.inout;
  if (rest.startsWith("@")) {
    const [source = "", target = "", ...more] = rest.slice(1).split("@");
    if (more.length > 0) return err(`file names with '@' cannot be told apart; rename them`);
    if (source === "" || target === "") return err(`two file names are needed; write ${form}`);
    return ok(fileBuffer(source, { kind: "file", path: target }));
  }
  const at = rest.indexOf("@");
  const output = outputOf(at < 0 ? null : rest.slice(at + 1));
  if (!output.ok) return output;
  return parseGenerated(at < 0 ? rest : rest.slice(0, at), form, output.value);
}

function parseOut(rest: string): Parsed {
  const at = rest.indexOf("@");
  const output = outputOf(at < 0 ? null : rest.slice(at + 1));
  if (!output.ok) return output;
  const shape = at < 0 ? rest : rest.slice(0, at);
  const input = { kind: "zero" } as const;
  if (shape.includes("[")) {
    const elements = parseElements(shape, ARGUMENT_FORMS.out);
    if (!elements.ok) return elements;
    return ok(typedBuffer(elements.value, input, output.value));
  }
  const bytes = parseSize(shape);
  if (!bytes.ok) return err(`${bytes.error}; write ${ARGUMENT_FORMS.out}`);
  return ok({ kind: "buffer", bytes: bytes.value, elements: null, input, output: output.value });
}

/** `TYPE[COUNT]=GENERATOR`. */
function parseGenerated(text: string, form: string, output: BufferOutput): Parsed {
  const equals = text.indexOf("=");
  if (equals < 0) return err(`no generator; write ${form}, GENERATOR: ${ARGUMENT_FORMS.generator}`);
  const elements = parseElements(text.slice(0, equals), form);
  if (!elements.ok) return elements;
  const pattern = parsePattern(elements.value.type, text.slice(equals + 1));
  if (!pattern.ok) return pattern;
  return ok(typedBuffer(elements.value, { kind: "pattern", pattern: pattern.value }, output));
}

/** `TYPE[COUNT]`. */
function parseElements(text: string, form: string): Result<Elements, string> {
  const [, name, size = ""] = /^([a-z0-9]+)\[([^\]]*)\]$/.exec(text) ?? [];
  const type = SCALAR_TYPES.find((each) => each === name);
  if (type === undefined) {
    return err(`'${text}' is no TYPE[COUNT]; write ${form}, TYPE: ${SCALAR_TYPES.join(" ")}`);
  }
  const count = parseSize(size);
  if (!count.ok) return count;
  if (count.value * SCALAR_BYTES[type] > SIZE_MAX) return err(`'${text}' is over 1024Gi bytes`);
  return ok({ type, count: count.value });
}

const SEED_MAX = 2 ** 32 - 1;

/** One generator of ARGUMENT_FORMS.generator, for elements of `type`. */
function parsePattern(type: ScalarType, text: string): Result<Pattern, string> {
  const [name, parameter] = split(text, ":");
  switch (name) {
    case "index":
      return parameter === undefined ? ok({ kind: "index", type }) : badGenerator(text);
    case "random": {
      const seed = parseSeed(parameter ?? "0");
      return seed.ok ? ok({ kind: "random", type, seed: seed.value }) : seed;
    }
    case "work": {
      const seed = parseSeed(parameter ?? "");
      if (!seed.ok) return seed;
      return type === "f32" ? ok({ kind: "work", seed: seed.value }) : needsF32(name);
    }
    case "ramp":
      return type === "f32" ? parseRamp(parameter ?? "1,16777216") : needsF32(name);
    default: {
      if (/^[a-z]+(:|$)/i.test(text) && !/^(nan|inf|infinity)$/i.test(text)) {
        return badGenerator(text);
      }
      const value = parseScalar(type, text);
      return value.ok ? ok({ kind: "constant", type, value: value.value }) : value;
    }
  }
}

function parseRamp(text: string): Result<Pattern, string> {
  const [scaleText, modulusText = ""] = split(text, ",");
  const scale = parseScalar("f64", scaleText);
  const modulus = parseSize(modulusText);
  if (!scale.ok || !Number.isFinite(Number(scale.value)) || !modulus.ok) {
    return err(`'${text}' is no SCALE,MODULUS; write e.g. ramp:0.5,1000`);
  }
  return ok({ kind: "ramp", scale: Number(scale.value), modulus: modulus.value });
}

function parseSeed(text: string): Result<number, string> {
  const seed = parseScalar("u32", text);
  return seed.ok ? ok(Number(seed.value)) : err(`'${text}' is no seed (0 to ${SEED_MAX})`);
}

const badGenerator = (text: string): Result<never, string> =>
  err(`unknown generator '${text}'; write ${ARGUMENT_FORMS.generator}`);

const needsF32 = (name: string): Result<never, string> =>
  err(`'${name}' makes f32 only; write f32[COUNT], or use index or random`);

/** Everything after the first `@`, which must be something. */
function outputOf(path: string | null): Result<BufferOutput, string> {
  if (path === null) return ok({ kind: "preview" });
  return path === "" ? err("no file name after '@'") : ok({ kind: "file", path });
}

function split(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function fileBuffer(path: string, output: BufferOutput): KernelArgumentText {
  return { kind: "buffer", bytes: null, elements: null, input: { kind: "file", path }, output };
}

function typedBuffer(
  elements: Elements,
  input: BufferInput,
  output: BufferOutput,
): KernelArgumentText {
  const bytes = elements.count * SCALAR_BYTES[elements.type];
  return { kind: "buffer", bytes, elements, input, output };
}
