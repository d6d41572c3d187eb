/** Scalar values as people write them, made into the decimal text that a job carries. */
import { err, ok, type Result } from "../base/mod.ts";
import type { ScalarType } from "../owner/mod.ts";
import { parseSize } from "./size.ts";

export const SCALAR_TYPES: readonly ScalarType[] = [
  "u8",
  "s8",
  "u16",
  "s16",
  "u32",
  "s32",
  "u64",
  "s64",
  "f32",
  "f64",
];

type IntegerType = Exclude<ScalarType, "f32" | "f64">;

const RANGES: Readonly<Record<IntegerType, readonly [minimum: bigint, maximum: bigint]>> = {
  u8: [0n, 2n ** 8n - 1n],
  s8: [-(2n ** 7n), 2n ** 7n - 1n],
  u16: [0n, 2n ** 16n - 1n],
  s16: [-(2n ** 15n), 2n ** 15n - 1n],
  u32: [0n, 2n ** 32n - 1n],
  s32: [-(2n ** 31n), 2n ** 31n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  s64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Integers: decimal, `0x` hex, or a size such as `1Mi`. Floats: decimal, `nan`, `inf`, `-inf`. */
export function parseScalar(type: ScalarType, text: string): Result<string, string> {
  return type === "f32" || type === "f64" ? parseFloatText(type, text) : parseInteger(type, text);
}

function parseInteger(type: IntegerType, text: string): Result<string, string> {
  const value = integerOf(text);
  if (value === null) {
    return err(`'${text}' is no whole number; write e.g. 42, 0x2a${signHint(type)} or 1Mi`);
  }
  const [minimum, maximum] = RANGES[type];
  if (value >= minimum && value <= maximum) return ok(String(value));
  return err(`${text} does not fit ${type} (${String(minimum)} to ${String(maximum)})`);
}

const signHint = (type: IntegerType): string => (type.startsWith("s") ? ", -42" : "");

function integerOf(text: string): bigint | null {
  const [, sign, digits] = /^([+-]?)(0x[0-9a-f]+|[0-9]+)$/i.exec(text) ?? [];
  if (digits !== undefined) return sign === "-" ? -BigInt(digits) : BigInt(digits);
  const size = parseSize(text);
  return size.ok ? BigInt(size.value) : null;
}

function parseFloatText(type: "f32" | "f64", text: string): Result<string, string> {
  const named = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
  if (named !== null) {
    if (named[2]?.toLowerCase() === "nan") return ok("NaN");
    return ok(named[1] === "-" ? "-Infinity" : "Infinity");
  }
  if (!/^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(text)) {
    return err(`'${text}' is no number; write e.g. 1.5, -2e-3, nan or inf`);
  }
  const value = Number(text);
  const stored = type === "f32" ? Math.fround(value) : value;
  if (!Number.isFinite(stored)) return err(`${text} does not fit ${type}; write inf for infinity`);
  return ok(Object.is(value, -0) ? "-0" : String(value));
}
