/**
 * atom and red. In global memory they are wasm's atomic instructions, or a loop around a
 * compare-exchange. A block runs on one worker, a thread at a time, so that in shared memory a
 * plain load, operation and store do.
 */
import { DATA_TYPE_BYTES, type AtomicFunction, type Instruction } from "../../ir/types.ts";
import type { MemoryOpcode } from "../../wasm/opcode.ts";
import { checkAddress, type CheckedAddress } from "./address.ts";
import { isSigned, type Emitter } from "./emitter.ts";
import { flushOperand, settleNan64 } from "./float-common.ts";

type Atomic = Extract<Instruction, { op: "atomic" }>;

type Width = "i32" | "i64";

/** The functions that wasm does in one instruction. */
const NATIVE: Partial<Record<AtomicFunction, string>> = {
  add: "add",
  and: "and",
  or: "or",
  xor: "xor",
  exch: "xchg",
};

/** An atomic access in locals: where, and its operands as integers. */
type Site = {
  readonly atomic: Atomic;
  readonly width: Width;
  readonly at: CheckedAddress;
  readonly source: number;
  readonly comparand: number | null;
};

const isFloat = ({ type }: Atomic): boolean => type === "f32" || type === "f64";

/** The integer type of the bits, which for a number is its own. */
function bitsType({ type }: Atomic): "b16" | "b32" | "b64" {
  const bytes = DATA_TYPE_BYTES[type];
  return bytes === 8 ? "b64" : bytes === 2 ? "b16" : "b32";
}

export function emitAtomic(emitter: Emitter, atomic: Atomic): void {
  const { code } = emitter;
  const bits = bitsType(atomic);
  const width: Width = bits === "b64" ? "i64" : "i32";
  const bytes = DATA_TYPE_BYTES[atomic.type];
  const { address, space, position } = atomic;
  const at = checkAddress(emitter, { address, space, bytes, position });
  emitter.read(atomic.source, bits);
  const source = emitter.spill(width);
  let comparand: number | null = null;
  if (atomic.comparand !== null) {
    emitter.read(atomic.comparand, bits);
    comparand = emitter.spill(width);
  }
  const site: Site = { atomic, width, at, source, comparand };
  if (space === "shared") emitShared(emitter, site);
  else emitGlobal(emitter, site);
  if (atomic.destination === null) code.op("drop");
  else emitter.write(atomic.destination, bits);
}

/** Does it and pushes the old value. */
function emitGlobal(emitter: Emitter, site: Site): void {
  const { code } = emitter;
  const { atomic, width, at, source, comparand } = site;
  const narrow = bitsType(atomic) === "b16";
  const native = isFloat(atomic) && atomic.function === "add" ? undefined : NATIVE[atomic.function];
  if (comparand !== null) {
    code.get(at.local).get(comparand).get(source);
    code.memory(opcode(width, narrow, "cmpxchg"), at.offset);
  } else if (native !== undefined) {
    code
      .get(at.local)
      .get(source)
      .memory(opcode(width, narrow, native), at.offset);
  } else emitLoop(emitter, site);
}

function opcode(width: Width, narrow: boolean, name: string): MemoryOpcode {
  return (narrow ? `i32.atomic.rmw16.${name}_u` : `${width}.atomic.rmw.${name}`) as MemoryOpcode;
}

/** Tries until nothing else wrote in between; pushes the old value. */
function emitLoop(emitter: Emitter, site: Site): void {
  const { code } = emitter;
  const { width, at } = site;
  const [old, seen] = [emitter.temporary(width), emitter.temporary(width)];
  code.get(at.local).memory(`${width}.atomic.load`, at.offset).set(old);
  const again = code.loop();
  code.get(at.local).get(old);
  emitUpdated(emitter, site, old);
  code.memory(`${width}.atomic.rmw.cmpxchg`, at.offset).tee(seen).get(old).op(`${width}.ne`);
  code.get(seen).set(old).branchIf(again).end();
  code.get(old);
}

function emitShared(emitter: Emitter, site: Site): void {
  const { code } = emitter;
  const { atomic, width, at } = site;
  const narrow = bitsType(atomic) === "b16";
  const old = emitter.temporary(width);
  code
    .get(at.local)
    .memory(narrow ? "i32.load16_u" : `${width}.load`, at.offset)
    .set(old);
  code.get(at.local);
  emitUpdated(emitter, site, old);
  code.memory(narrow ? "i32.store16" : `${width}.store`, at.offset).get(old);
}

/** Pushes what the memory holds afterwards, given the old value. */
function emitUpdated(emitter: Emitter, site: Site, old: number): void {
  const { code } = emitter;
  const { atomic, width, source, comparand } = site;
  switch (atomic.function) {
    case "add":
      if (isFloat(atomic)) emitFloatSum(emitter, site, old);
      else code.get(old).get(source).op(`${width}.add`);
      return;
    case "and":
    case "or":
    case "xor":
      code.get(old).get(source).op(`${width}.${atomic.function}`);
      return;
    case "exch":
      code.get(source);
      return;
    case "cas":
      code
        .get(source)
        .get(old)
        .get(old)
        .get(comparand ?? source)
        .ops(`${width}.eq`, "select");
      return;
    case "min":
    case "max": {
      const less = atomic.function === "min" ? "lt" : "gt";
      code.get(source).get(old).get(source).get(old);
      code.ops(`${width}.${less}_${isSigned(atomic.type) ? "s" : "u"}`, "select");
      return;
    }
    case "inc":
      // old >= limit ? 0 : old + 1
      code.i32(0).get(old).i32(1).op("i32.add").get(old).get(source).ops("i32.ge_u", "select");
      return;
    case "dec":
      // old == 0 or old > limit ? limit : old - 1
      code.get(source).get(old).i32(1).op("i32.sub");
      code.get(old).op("i32.eqz").get(old).get(source).ops("i32.gt_u", "i32.or", "select");
  }
}

/** Pushes the sum of two floats, by their bits. */
function emitFloatSum(emitter: Emitter, site: Site, old: number): void {
  const { code } = emitter;
  const { atomic, source, at } = site;
  if (atomic.type === "f64") {
    const [left, right] = [emitter.temporary("f64"), emitter.temporary("f64")];
    code.get(old).op("f64.reinterpret_i64").set(left).get(source).op("f64.reinterpret_i64");
    code.set(right).get(left).get(right).op("f64.add");
    settleNan64(emitter, [right, left]);
    code.op("i64.reinterpret_f64");
    return;
  }
  // In global memory CUDA flushes f32 subnormals, in shared memory it does not.
  if (atomic.space !== "generic") {
    emitFloat32Sum(emitter, { old, source, flush: atomic.space === "global" });
    return;
  }
  code.get(at.local).i32(at.offset).op("i32.add");
  emitter.blockValue("shared").op("i32.sub");
  emitter.blockValue("sharedBytes").op("i32.lt_u").if("i32");
  emitFloat32Sum(emitter, { old, source, flush: false });
  code.else();
  emitFloat32Sum(emitter, { old, source, flush: true });
  code.end();
}

type Float32Sum = { readonly old: number; readonly source: number; readonly flush: boolean };

function emitFloat32Sum(emitter: Emitter, { old, source, flush }: Float32Sum): void {
  const { code } = emitter;
  for (const bits of [old, source]) {
    code.get(bits).op("f32.reinterpret_i32");
    if (flush) flushOperand(emitter);
  }
  code.op("f32.add");
  if (flush) flushOperand(emitter);
  const sum = emitter.temporary("f32");
  code.tee(sum);
  emitter.canonicalise(sum).op("i32.reinterpret_f32");
}
