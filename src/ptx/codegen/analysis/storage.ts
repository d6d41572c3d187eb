/**
 * How each register is held in a wasm local, and what that says about its NaNs.
 *
 * PTX registers of a bit type (.b32, which nvcc writes for everything of that width) may hold
 * floats. One whose definitions and uses are all of f32, moves and memory accesses aside, is held
 * in an f32 local, so that arithmetic on it needs no reinterpretation; likewise f64.
 *
 * CUDA's f32 arithmetic gives the one NaN 0x7fffffff, where wasm's gives any. A register that only
 * f32 arithmetic defines is *lax*: whatever NaN is in its local stands for 0x7fffffff, which is put
 * in its place when its bits are looked at. All other registers hold exact bits at all times.
 */
import { DATA_TYPE_BYTES, type DataType, type Instruction, type Kernel } from "../../ir/types.ts";
import type { Operand, Operation, RegisterId } from "../../ir/types.ts";
import type { ValueType } from "../../wasm/value-type.ts";
import type { Definitions } from "./definitions.ts";
import { addressOf, operandsOf, writesOf } from "./effects.ts";

export type RegisterStorage = { readonly local: ValueType; readonly isLax: boolean };

/** By register. */
export type Storage = readonly RegisterStorage[];

/** The wasm type that holds a value of a PTX type. */
export function valueTypeOf(type: DataType): ValueType {
  if (type === "f32" || type === "f64") return type;
  return DATA_TYPE_BYTES[type] === 8 ? "i64" : "i32";
}

/** Operations that hand bits on and do not care what they mean. */
const NEUTRAL_OPERATIONS: ReadonlySet<Instruction["op"]> = new Set([
  "move",
  "load",
  "store",
  "select",
]);

/** The type that an operation writes to its destinations. */
function resultType(instruction: Instruction): DataType {
  if (instruction.op === "convert") return instruction.to;
  if (instruction.op === "compare") return "pred";
  return instruction.op === "fence" ? "b32" : instruction.type;
}

/** The type that an operation reads its operands as. */
function sourceType(instruction: Instruction): DataType {
  if (instruction.op === "convert") return instruction.from;
  return instruction.op === "compare" ? instruction.type : resultType(instruction);
}

/** Registers of bits or integers whose every typed use and definition is of one float type. */
function floatRegisters(kernel: Kernel): ReadonlyMap<RegisterId, "f32" | "f64"> {
  const votes = new Map<RegisterId, DataType | "mixed">();
  const vote = (id: RegisterId, type: DataType): void => {
    const before = votes.get(id);
    if (before === undefined) votes.set(id, type);
    else if (before !== type) votes.set(id, "mixed");
  };
  const voteOperand = (operand: Operand, type: DataType): void => {
    if (operand.kind === "register") vote(operand.id, type);
  };
  for (const instruction of kernel.blocks.flatMap((block) => block.instructions)) {
    const address = addressOf(instruction);
    if (address?.base.kind === "register") vote(address.base.id, "u64");
    const isFloat = /^f(32|64)$/.test(sourceType(instruction));
    if (NEUTRAL_OPERATIONS.has(instruction.op) && !isFloat) continue;
    const isPiecewise = instruction.op === "pack" || instruction.op === "unpack";
    const source = isPiecewise ? "b64" : sourceType(instruction);
    const result = isPiecewise ? "b64" : resultType(instruction);
    for (const operand of operandsOf(instruction)) voteOperand(operand, source);
    for (const id of writesOf(instruction)) vote(id, result);
  }
  const floats = new Map<RegisterId, "f32" | "f64">();
  for (const [id, type] of votes) if (type === "f32" || type === "f64") floats.set(id, type);
  return floats;
}

/** cvt to the same float type without a modifier changes nothing, not even a NaN. */
export function isCopy(operation: Extract<Operation, { op: "convert" }>): boolean {
  const { to, from, rounding, flushSubnormals, saturate } = operation;
  return to === from && rounding === "none" && !flushSubnormals && !saturate;
}

function isArithmetic(instruction: Instruction): boolean {
  const { op } = instruction;
  if (op === "unary" || op === "binary" || op === "ternary") return instruction.type === "f32";
  // From f64 a NaN keeps its payload, and in a plain copy all of its bits.
  if (op !== "convert" || instruction.to !== "f32") return false;
  return instruction.from !== "f64" && !isCopy(instruction);
}

/** The registers held as f32 that nothing but f32 arithmetic defines, directly or by moves. */
function laxRegisters(found: Definitions, locals: readonly ValueType[]): ReadonlySet<RegisterId> {
  const lax = new Set<RegisterId>();
  locals.forEach((local, id) => {
    if (local === "f32" && (found[id]?.length ?? 0) > 0) lax.add(id);
  });
  const isLaxOperand = (operand: Operand): boolean =>
    operand.kind === "register" && lax.has(operand.id);
  const isLaxDefinition = (instruction: Instruction): boolean => {
    if (isArithmetic(instruction)) return true;
    if (instruction.op !== "move" && instruction.op !== "select") return false;
    return operandsOf(instruction).every(isLaxOperand);
  };
  for (let before = -1; lax.size !== before;) {
    before = lax.size;
    for (const id of lax) if (!(found[id] ?? []).every(isLaxDefinition)) lax.delete(id);
  }
  return lax;
}

export function storage(kernel: Kernel, found: Definitions): Storage {
  const floats = floatRegisters(kernel);
  const locals = kernel.registers.map(({ type }, id): ValueType => {
    const float = floats.get(id);
    const fits = float !== undefined && DATA_TYPE_BYTES[float] === DATA_TYPE_BYTES[type];
    return fits ? float : valueTypeOf(type);
  });
  const lax = laxRegisters(found, locals);
  return locals.map((local, id) => ({ local, isLax: lax.has(id) }));
}
