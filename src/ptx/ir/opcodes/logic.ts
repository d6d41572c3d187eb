// Bitwise logic, shifts, counting bits, comparisons and selection.
import { form, refused, type Builder, type Form } from "../form.ts";
import type { InstructionReader } from "../reader.ts";
import type { BinaryFunction, Comparison, Guard, Operation, RegisterId } from "../types.ts";
import { counting, unary } from "./arithmetic.ts";
import { HALVES, INTEGERS, modifiersOf } from "./common.ts";

const bitwise =
  (name: BinaryFunction): Builder =>
  (reader) => {
    const type = reader.type();
    reader.expectOperands(3);
    // The count of a shift is 32 bits wide, whatever is shifted.
    const rightType = name === "shl" || name === "shr" ? "u32" : type;
    reader.emit({
      op: "binary",
      function: name,
      type,
      ...modifiersOf(reader),
      destination: reader.destination(0, type),
      left: reader.source(1, type),
      right: reader.source(2, rightType),
    });
  };

/** Unsigned integers have names of their own for the four orders. */
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  eq: "eq",
  ne: "ne",
  lt: "lt",
  le: "le",
  gt: "gt",
  ge: "ge",
  lo: "lt",
  ls: "le",
  hi: "gt",
  hs: "ge",
  equ: "equ",
  neu: "neu",
  ltu: "ltu",
  leu: "leu",
  gtu: "gtu",
  geu: "geu",
  num: "num",
  nan: "nan",
};

type Combine = Extract<Operation, { op: "compare" }>["combine"];

function combineOf(reader: InstructionReader): Combine {
  const name = reader.choice("combine");
  if (name !== "and" && name !== "or" && name !== "xor") return null;
  const predicate: Guard = reader.predicate(3);
  return { function: name, predicate };
}

function destinationsOf(reader: InstructionReader): [RegisterId | null, RegisterId | null] {
  const node = reader.operand(0);
  const read = (part: typeof node): RegisterId | null =>
    reader.destinationOrSink(part, "pred", "exact");
  return node.kind === "pair" ? [read(node.first), read(node.second)] : [read(node), null];
}

const compare: Builder = (reader) => {
  const type = reader.type();
  reader.expectOperands(reader.has("combine") ? 4 : 3);
  const comparison = COMPARISONS[reader.choice("comparison") ?? ""] ?? "eq";
  const [destination, complement] = destinationsOf(reader);
  reader.emit({
    op: "compare",
    comparison,
    type,
    flushSubnormals: reader.has("ftz"),
    destination,
    complement,
    left: reader.source(1, type),
    right: reader.source(2, type),
    combine: combineOf(reader),
  });
};

const select: Builder = (reader) => {
  const type = reader.type();
  reader.expectOperands(4);
  const predicate = reader.predicate(3);
  reader.emit({
    op: "select",
    type,
    destination: reader.destination(0, type),
    onTrue: reader.source(1, type),
    onFalse: reader.source(2, type),
    predicate,
  });
};

const COMBINE = "combine=and|or|xor?";
const FLOAT_COMPARISON = "comparison=eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan";

const COMPARES: readonly Form[] = [
  form(`setp comparison=eq|ne ${COMBINE} type=b16|b32|b64`, compare),
  form(`setp comparison=eq|ne|lt|le|gt|ge|lo|ls|hi|hs ${COMBINE} type=u16|u32|u64`, compare),
  form(`setp comparison=eq|ne|lt|le|gt|ge ${COMBINE} type=s16|s32|s64`, compare),
  form(`setp ${FLOAT_COMPARISON} ${COMBINE} ftz? type=f32`, compare),
  form(`setp ${FLOAT_COMPARISON} ${COMBINE} type=f64`, compare),
  refused(`setp ${FLOAT_COMPARISON} ${COMBINE} ftz? type=${HALVES}`),
  form(`selp type=b16|b32|b64|${INTEGERS}|f32|f64`, select),
];

export const LOGIC: readonly Form[] = [
  ...(["and", "or", "xor"] as const).map((name) =>
    form(`${name} type=pred|b16|b32|b64`, bitwise(name)),
  ),
  form("not type=pred|b16|b32|b64", unary("not")),
  form("cnot type=b16|b32|b64", unary("cnot")),
  form("shl type=b16|b32|b64", bitwise("shl")),
  form(`shr type=b16|b32|b64|${INTEGERS}`, bitwise("shr")),
  form("popc type=b32|b64", counting("popc")),
  form("clz type=b32|b64", counting("clz")),
  form("brev type=b32|b64", unary("brev")),
  ...COMPARES,
];
