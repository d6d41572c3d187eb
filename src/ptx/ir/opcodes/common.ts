import type { InstructionReader } from "../reader.ts";
import type { DataType, Precision, Rounding } from "../types.ts";

export const INTEGERS = "u16|u32|u64|s16|s32|s64";
export const ROUNDING = "rounding=rn|rz|rm|rp";
/** 16-bit floating-point types, alone and packed: P2 of the coverage plan. */
export const HALVES = "f16|f16x2|bf16|bf16x2";

/** The modifiers that every computing operation of the IR carries. */
export type Modifiers = {
  readonly rounding: Rounding;
  readonly precision: Precision;
  readonly flushSubnormals: boolean;
  readonly saturate: boolean;
};

const ROUNDINGS: Readonly<Record<string, Rounding>> = { rn: "rn", rz: "rz", rm: "rm", rp: "rp" };
const PRECISIONS: Readonly<Record<string, Precision>> = { approx: "approx", full: "full" };

/** The modifiers of an instruction; what is not written is round to nearest, exact, plain. */
export function modifiersOf(reader: InstructionReader): Modifiers {
  return {
    rounding: ROUNDINGS[reader.choice("rounding") ?? ""] ?? "rn",
    precision: PRECISIONS[reader.choice("precision") ?? ""] ?? "exact",
    flushSubnormals: reader.has("ftz"),
    saturate: reader.has("sat"),
  };
}

const WIDER: Readonly<Partial<Record<DataType, DataType>>> = {
  u16: "u32",
  s16: "s32",
  u32: "u64",
  s32: "s64",
};

/** The type that a `.wide` product of this type has. */
export function widerType(type: DataType): DataType {
  return WIDER[type] ?? type;
}
