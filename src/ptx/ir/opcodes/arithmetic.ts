// add, sub, mul, mad, fma, div, rem, min, max, neg, abs and the unary functions.
import { form, refused, type Builder, type Form } from "../form.ts";
import type { InstructionReader } from "../reader.ts";
import type { BinaryFunction, DataType, TernaryFunction, UnaryFunction } from "../types.ts";
import { HALVES, INTEGERS, modifiersOf, ROUNDING, widerType } from "./common.ts";

function binaryOf(reader: InstructionReader, name: BinaryFunction): void {
  const type = reader.type();
  reader.expectOperands(3);
  const result = name === "mulWide" ? widerType(type) : type;
  reader.emit({
    op: "binary",
    function: name,
    type,
    ...modifiersOf(reader),
    destination: reader.destination(0, result),
    left: reader.source(1, type),
    right: reader.source(2, type),
  });
}

const binary =
  (name: BinaryFunction): Builder =>
  (reader) => {
    binaryOf(reader, name);
  };

function unaryOf(reader: InstructionReader, name: UnaryFunction, result: DataType): void {
  const type = reader.type();
  reader.expectOperands(2);
  reader.emit({
    op: "unary",
    function: name,
    type,
    ...modifiersOf(reader),
    destination: reader.destination(0, result),
    source: reader.source(1, type),
  });
}

export const unary =
  (name: UnaryFunction): Builder =>
  (reader) => {
    unaryOf(reader, name, reader.type());
  };

/** popc and clz: their result is a u32 whatever they count in. */
export const counting =
  (name: UnaryFunction): Builder =>
  (reader) => {
    unaryOf(reader, name, "u32");
  };

function ternaryOf(reader: InstructionReader, name: TernaryFunction): void {
  const type = reader.type();
  reader.expectOperands(4);
  const result = name === "madWide" ? widerType(type) : type;
  const { rounding, flushSubnormals, saturate } = modifiersOf(reader);
  reader.emit({
    op: "ternary",
    function: name,
    type,
    rounding,
    flushSubnormals,
    saturate,
    destination: reader.destination(0, result),
    a: reader.source(1, type),
    b: reader.source(2, type),
    c: reader.source(3, result),
  });
}

const ternary =
  (name: TernaryFunction): Builder =>
  (reader) => {
    ternaryOf(reader, name);
  };

const MULTIPLIES: Readonly<Record<string, [BinaryFunction, TernaryFunction]>> = {
  lo: ["mulLo", "madLo"],
  hi: ["mulHi", "madHi"],
  wide: ["mulWide", "madWide"],
};

const multiply: Builder = (reader) => {
  binaryOf(reader, MULTIPLIES[reader.choice("half") ?? ""]?.[0] ?? "mulLo");
};
const multiplyAdd: Builder = (reader) => {
  ternaryOf(reader, MULTIPLIES[reader.choice("half") ?? ""]?.[1] ?? "madLo");
};

/** add and sub share their forms. */
const additive = (name: "add" | "sub"): Form[] => [
  form(`${name} type=${INTEGERS}`, binary(name)),
  form(`${name} sat type=s32`, binary(name)),
  form(`${name} ${ROUNDING}? ftz? sat? type=f32`, binary(name)),
  form(`${name} ${ROUNDING}? type=f64`, binary(name)),
  refused(`${name} rn? ftz? sat? type=${HALVES}`),
  refused(`${name} cc type=u32|s32|u64|s64`),
  refused(`${name} ${ROUNDING}? ftz? sat? type=f32x2`),
  refused(`${name} type=u16x2|s16x2`),
  refused(`${name} ${ROUNDING}? sat? type=f32 from=f16|bf16`),
];

const MULTIPLICATIONS: readonly Form[] = [
  form(`mul half=lo|hi type=${INTEGERS}`, multiply),
  form("mul half=wide type=u16|u32|s16|s32", multiply),
  form(`mul ${ROUNDING}? ftz? sat? type=f32`, binary("mul")),
  form(`mul ${ROUNDING}? type=f64`, binary("mul")),
  refused(`mul rn? ftz? sat? type=${HALVES}`),
  refused(`mul ${ROUNDING}? ftz? type=f32x2`),
  form(`mad half=lo|hi type=${INTEGERS}`, multiplyAdd),
  form("mad half=wide type=u16|u32|s16|s32", multiplyAdd),
  refused("mad hi sat s32"),
  refused("mad half=lo|hi cc type=u32|s32|u64|s64"),
  // From sm_20 on mad is fma and rounded once; text for sm_1x has no rounding modifier.
  form(`mad ${ROUNDING}? ftz? sat? type=f32`, ternary("fma")),
  form(`mad ${ROUNDING} type=f64`, ternary("fma")),
  form(`fma ${ROUNDING} ftz? sat? type=f32`, ternary("fma")),
  form(`fma ${ROUNDING} type=f64`, ternary("fma")),
  refused(`fma rn ftz? clamp=sat|relu|oob? relu? type=${HALVES}`),
  refused(`fma ${ROUNDING} ftz? type=f32x2`),
  refused(`fma ${ROUNDING} sat? type=f32 from=f16|bf16`),
];

const DIVISIONS: readonly Form[] = [
  form(`div type=${INTEGERS}`, binary("div")),
  form("div precision=approx|full ftz? type=f32", binary("div")),
  form(`div ${ROUNDING} ftz? type=f32`, binary("div")),
  form(`div ${ROUNDING} type=f64`, binary("div")),
  form(`rem type=${INTEGERS}`, binary("rem")),
];

const extreme = (name: "min" | "max"): Form[] => [
  form(`${name} type=${INTEGERS}`, binary(name)),
  form(`${name} ftz? type=f32`, binary(name)),
  form(`${name} type=f64`, binary(name)),
  refused(`${name} ftz? NaN? xorsign? abs? type=f32`),
  refused(`${name} ftz? NaN? xorsign? abs? type=${HALVES}`),
  refused(`${name} relu? type=s32|u16x2|s16x2`),
];

const sign = (name: "neg" | "abs"): Form[] => [
  form(`${name} type=s16|s32|s64`, unary(name)),
  form(`${name} ftz? type=f32`, unary(name)),
  form(`${name} type=f64`, unary(name)),
  refused(`${name} ftz? type=${HALVES}`),
];

const ROOTS: readonly Form[] = [
  ...(["rcp", "sqrt"] as const).flatMap((name) => [
    form(`${name} precision=approx ftz? type=f32`, unary(name)),
    form(`${name} ${ROUNDING} ftz? type=f32`, unary(name)),
    form(`${name} ${ROUNDING} type=f64`, unary(name)),
  ]),
  refused("rcp approx ftz f64"),
  form("rsqrt precision=approx ftz? type=f32", unary("rsqrt")),
  form("rsqrt precision=approx type=f64", unary("rsqrt")),
  refused("rsqrt approx ftz f64"),
  ...(["sin", "cos", "lg2", "ex2"] as const).map((name) =>
    form(`${name} precision=approx ftz? type=f32`, unary(name)),
  ),
  refused(`ex2 approx ftz? type=${HALVES}`),
  form("tanh precision=approx type=f32", unary("tanh")),
  refused(`tanh approx type=${HALVES}`),
];

export const ARITHMETIC: readonly Form[] = [
  ...additive("add"),
  ...additive("sub"),
  ...MULTIPLICATIONS,
  ...DIVISIONS,
  ...extreme("min"),
  ...extreme("max"),
  ...sign("neg"),
  ...sign("abs"),
  ...ROOTS,
];
