/** One instruction as scalar code. */
import { invariant, unreachable } from "../../../base/mod.ts";
import type { Instruction } from "../../ir/types.ts";
import { emitAtomic } from "./atomics.ts";
import { emitCompare } from "./compare.ts";
import { emitConvert } from "./convert.ts";
import type { Emitter } from "./emitter.ts";
import { emitFloat32Binary, emitFloat32Fma, emitFloat32Unary } from "./float32.ts";
import { emitFloat64Binary, emitFloat64Fma, emitFloat64Unary } from "./float64.ts";
import { emitIntegerBinary, emitIntegerTernary, emitIntegerUnary } from "./integers.ts";
import { emitLoad, emitStore } from "./memory.ts";
import { emitConvertAddress, emitMove, emitPack, emitSelect, emitUnpack } from "./moves.ts";

/** Writes an instruction, under its guard. */
export function emitInstruction(emitter: Emitter, instruction: Instruction): void {
  const { guard } = instruction;
  if (guard === null) emitOperation(emitter, instruction);
  else {
    emitter.predicate(guard).if();
    emitOperation(emitter, instruction);
    emitter.code.end();
  }
  emitter.releaseTemporaries();
}

function emitOperation(emitter: Emitter, instruction: Instruction): void {
  switch (instruction.op) {
    case "move":
      emitMove(emitter, instruction);
      return;
    case "pack":
      emitPack(emitter, instruction);
      return;
    case "unpack":
      emitUnpack(emitter, instruction);
      return;
    case "unary":
    case "binary":
    case "ternary":
      emitArithmetic(emitter, instruction);
      return;
    case "compare":
      emitCompare(emitter, instruction);
      return;
    case "select":
      emitSelect(emitter, instruction);
      return;
    case "convert":
      emitConvert(emitter, instruction);
      return;
    case "convertAddress":
      emitConvertAddress(emitter, instruction);
      return;
    case "load":
      emitLoad(emitter, instruction);
      return;
    case "store":
      emitStore(emitter, instruction);
      return;
    case "atomic":
      emitAtomic(emitter, instruction);
      return;
    case "fence":
      emitter.code.fence();
      return;
    default:
      unreachable(instruction);
  }
}

type Arithmetic = Extract<Instruction, { op: "unary" | "binary" | "ternary" }>;

function emitArithmetic(emitter: Emitter, instruction: Arithmetic): void {
  const { type } = instruction;
  invariant(type !== "f16", "the front end refuses f16 arithmetic");
  const family = type === "f32" || type === "f64" ? type : "integer";
  switch (instruction.op) {
    case "unary":
      ({ f32: emitFloat32Unary, f64: emitFloat64Unary, integer: emitIntegerUnary })[family](
        emitter,
        instruction,
      );
      return;
    case "binary":
      ({ f32: emitFloat32Binary, f64: emitFloat64Binary, integer: emitIntegerBinary })[family](
        emitter,
        instruction,
      );
      return;
    case "ternary":
      ({ f32: emitFloat32Fma, f64: emitFloat64Fma, integer: emitIntegerTernary })[family](
        emitter,
        instruction,
      );
  }
}
