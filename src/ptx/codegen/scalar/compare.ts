/** setp: comparisons of integers and floats, combined with a predicate. */
import type { Comparison, DataType, Operation } from "../../ir/types.ts";
import type { Code } from "../../wasm/code.ts";
import { integerOf, isSigned, type Emitter } from "./emitter.ts";
import { readFloat } from "./float-common.ts";

type Compare = Extract<Operation, { op: "compare" }>;

export function emitCompare(emitter: Emitter, operation: Compare): void {
  const { code } = emitter;
  const { type } = operation;
  if (type === "f32" || type === "f64") {
    readFloat(emitter, operation.left, type, operation.flushSubnormals);
    const left = emitter.spill(type);
    readFloat(emitter, operation.right, type, operation.flushSubnormals);
    compareFloats(code, operation.comparison, { type, left, right: emitter.spill(type) });
  } else {
    emitter.read(operation.left, type);
    emitter.read(operation.right, type);
    compareIntegers(code, operation.comparison, type);
  }
  const result = emitter.spill("i32");
  const { destination, complement } = operation;
  if (complement !== null) {
    // The combining predicate may be the destination, so it is read before anything is written.
    code.get(result).op("i32.eqz");
    combine(emitter, operation);
  }
  if (destination !== null) {
    code.get(result);
    combine(emitter, operation);
    emitter.write(destination, "pred");
  }
  if (complement !== null) emitter.write(complement, "pred");
}

function combine(emitter: Emitter, { combine: combination }: Compare): void {
  if (combination === null) return;
  emitter.predicate(combination.predicate).op(`i32.${combination.function}`);
}

/** Integers are always ordered, so that the unordered forms compare as the others do. */
const ORDERED = { equ: "eq", neu: "ne", ltu: "lt", leu: "le", gtu: "gt", geu: "ge" } as const;

function compareIntegers(code: Code, comparison: Comparison, type: DataType): void {
  const integer = integerOf(type);
  const sign = isSigned(type) ? "s" : "u";
  switch (comparison) {
    case "num":
    case "nan":
      code.ops("drop", "drop").i32(comparison === "num" ? 1 : 0);
      return;
    case "eq":
    case "ne":
      code.op(`${integer}.${comparison}`);
      return;
    case "lt":
    case "le":
    case "gt":
    case "ge":
      code.op(`${integer}.${comparison}_${sign}`);
      return;
    case "equ":
    case "neu":
    case "ltu":
    case "leu":
    case "gtu":
    case "geu":
      compareIntegers(code, ORDERED[comparison], type);
  }
}

type Floats = { readonly type: "f32" | "f64"; readonly left: number; readonly right: number };

function compareFloats(code: Code, comparison: Comparison, { type, left, right }: Floats): void {
  const both = (): Code => code.get(left).get(right);
  const isOrdered = (): void => {
    code.get(left).get(left).op(`${type}.eq`);
    code.get(right).get(right).ops(`${type}.eq`, "i32.and");
  };
  const differs = (): void => {
    both().op(`${type}.lt`);
    both().ops(`${type}.gt`, "i32.or");
  };
  switch (comparison) {
    case "eq":
    case "lt":
    case "le":
    case "gt":
    case "ge":
      both().op(`${type}.${comparison}`);
      return;
    case "ne":
      differs();
      return;
    case "equ":
      differs();
      code.op("i32.eqz");
      return;
    case "neu":
      both().op(`${type}.ne`);
      return;
    case "ltu":
      both().ops(`${type}.ge`, "i32.eqz");
      return;
    case "leu":
      both().ops(`${type}.gt`, "i32.eqz");
      return;
    case "gtu":
      both().ops(`${type}.le`, "i32.eqz");
      return;
    case "geu":
      both().ops(`${type}.lt`, "i32.eqz");
      return;
    case "num":
      isOrdered();
      return;
    case "nan":
      isOrdered();
      code.op("i32.eqz");
  }
}
