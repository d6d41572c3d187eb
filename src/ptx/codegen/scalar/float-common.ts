/** What all floating-point instructions share: flushing, saturating, and CUDA's NaNs. */
import type { Operand, Rounding } from "../../ir/types.ts";
import type { Code } from "../../wasm/code.ts";
import { F32_NORMAL_MIN } from "../helpers/float32.ts";
import type { Emitter } from "./emitter.ts";

export type FloatType = "f32" | "f64";

/** Pushes the value of a float operand; .ftz takes a subnormal f32 for zero. */
export function readFloat(
  emitter: Emitter,
  operand: Operand,
  type: FloatType,
  flush: boolean,
): Code {
  emitter.read(operand, type, "value");
  if (flush && type === "f32") flushOperand(emitter);
  return emitter.code;
}

/** Replaces a subnormal f32 on the stack by the zero of its sign. */
export function flushOperand(emitter: Emitter): void {
  const { code } = emitter;
  const value = emitter.spill("f32");
  code.f32(0).get(value).op("f32.copysign").get(value);
  code.get(value).op("f32.abs").f32(0x00800000).ops("f32.lt", "select");
}

/** 2^-126 in units of the last place of the numbers just below it, as f32 rounds them freely. */
const BELOW_NORMAL = 2 ** -24;

/**
 * Magnitudes below this are subnormal once rounded to 24 bits, whatever the exponent. To nearest,
 * what is less than half a unit below 2^-126 rounds up to it; away from zero, what is less than
 * one.
 */
const FLUSH_LIMIT: Readonly<Record<Rounding, number>> = {
  rn: F32_NORMAL_MIN * (1 - BELOW_NORMAL / 2),
  rz: F32_NORMAL_MIN,
  rm: F32_NORMAL_MIN * (1 - BELOW_NORMAL) * (1 + 2 ** -52),
  rp: F32_NORMAL_MIN * (1 - BELOW_NORMAL) * (1 + 2 ** -52),
};

/** Flushes the f32 result on the stack; `pushExact` pushes as f64 what was rounded to it. */
export function flushResult(emitter: Emitter, rounding: Rounding, pushExact: () => void): void {
  const { code } = emitter;
  const result = emitter.temporary("f32");
  code.tee(result).op("f32.abs").f32(0x00800000).op("f32.le").if("f32");
  code.get(result);
  pushExact();
  code.f64(FLUSH_LIMIT[rounding]);
  emitter.call("flushTiny");
  code.else().get(result).end();
}

/** Clamps the float on the stack to [0, 1]; a NaN becomes +0. */
export function saturate(emitter: Emitter, type: FloatType): void {
  const { code } = emitter;
  const value = emitter.spill(type);
  const constant = (number: number): Code =>
    type === "f32" ? code.f32(number === 1 ? 0x3f800000 : 0) : code.f64(number);
  code.get(value);
  constant(0).get(value).get(value).ops(`${type}.eq`, "select");
  constant(0).op(`${type}.max`);
  constant(1).op(`${type}.min`);
}

/** Rounds the f64 on the stack to f32; it is exact or was rounded to odd. */
export function demote(emitter: Emitter, rounding: Rounding): void {
  const { code } = emitter;
  switch (rounding) {
    case "rn":
      code.op("f32.demote_f64");
      return;
    case "rz":
      emitter.call("demoteRz");
      return;
    case "rp":
      emitter.call("demoteRp");
      return;
    case "rm":
      code.op("f64.neg");
      emitter.call("demoteRp").op("f32.neg");
  }
}

/** Gives the f64 on the stack the NaN that CUDA gives, if it is one; locals in order of regard. */
export function settleNan64(emitter: Emitter, regarded: readonly number[]): void {
  const { code } = emitter;
  const result = emitter.temporary("f64");
  code.tee(result).get(result).op("f64.ne").if("f64");
  // The helpers take their operands as an instruction names them: a, b or a, b, c.
  const [first = 0, second = first, third] = regarded;
  if (third === undefined) code.get(second).get(first);
  else code.get(third).get(first).get(second);
  emitter.call(third === undefined ? "nanOf2" : "nanOf3");
  code.else().get(result).end();
}
