/** Loads and stores, of one value or of a vector. */
import { DATA_TYPE_BYTES, type DataType, type Instruction } from "../../ir/types.ts";
import type { MemoryOpcode } from "../../wasm/opcode.ts";
import { checkAddress } from "./address.ts";
import type { Emitter } from "./emitter.ts";
import { bitsLike } from "./moves.ts";

type Load = Extract<Instruction, { op: "load" }>;
type Store = Extract<Instruction, { op: "store" }>;

const PLAIN_LOAD: Readonly<Record<DataType, MemoryOpcode>> = {
  pred: "i32.load8_u",
  b8: "i32.load8_u",
  u8: "i32.load8_u",
  s8: "i32.load8_s",
  b16: "i32.load16_u",
  u16: "i32.load16_u",
  f16: "i32.load16_u",
  s16: "i32.load16_s",
  b32: "i32.load",
  u32: "i32.load",
  s32: "i32.load",
  f32: "f32.load",
  b64: "i64.load",
  u64: "i64.load",
  s64: "i64.load",
  f64: "f64.load",
};

const PLAIN_STORE: Readonly<Record<number, MemoryOpcode>> = {
  1: "i32.store8",
  2: "i32.store16",
  4: "i32.store",
  8: "i64.store",
};

const ATOMIC_LOAD: Readonly<Record<number, MemoryOpcode>> = {
  1: "i32.atomic.load8_u",
  2: "i32.atomic.load16_u",
  4: "i32.atomic.load",
  8: "i64.atomic.load",
};

const ATOMIC_STORE: Readonly<Record<number, MemoryOpcode>> = {
  1: "i32.atomic.store8",
  2: "i32.atomic.store16",
  4: "i32.atomic.store",
  8: "i64.atomic.store",
};

/** The integer type of the same bytes, for an access that must be atomic. */
const BITS: Readonly<Record<number, DataType>> = { 1: "b8", 2: "b16", 4: "b32", 8: "b64" };

/** Volatile and ordered accesses are atomic where another worker may look on. */
function isAtomic({ isVolatile, space }: Load | Store): boolean {
  return isVolatile && (space === "global" || space === "generic");
}

export function emitLoad(emitter: Emitter, instruction: Load): void {
  const { code } = emitter;
  const { type, destinations, address, space, position } = instruction;
  const size = DATA_TYPE_BYTES[type];
  const bytes = size * destinations.length;
  const { local, offset } = checkAddress(emitter, { address, space, bytes, position });
  destinations.forEach((destination, index) => {
    if (destination === null) return;
    code.get(local);
    if (isAtomic(instruction)) {
      code.memory(ATOMIC_LOAD[size] ?? "i32.atomic.load", offset + index * size);
      if (type === "s8" || type === "s16") emitter.extend(type);
      emitter.write(destination, /^[su]/.test(type) ? type : (BITS[size] ?? type));
      return;
    }
    const held = loadedAs(emitter, destination, type);
    code.memory(PLAIN_LOAD[held], offset + index * size);
    emitter.write(destination, held);
  });
}

/** The type to load as, so that a register held as a float needs no reinterpretation. */
function loadedAs(emitter: Emitter, destination: number, type: DataType): DataType {
  const isWhole = DATA_TYPE_BYTES[emitter.typeOf(destination)] === DATA_TYPE_BYTES[type];
  return isWhole ? bitsLike(emitter, destination, type) : type;
}

export function emitStore(emitter: Emitter, instruction: Store): void {
  const { code } = emitter;
  const { type, sources, address, space, position } = instruction;
  const size = DATA_TYPE_BYTES[type];
  const bytes = size * sources.length;
  const { local, offset } = checkAddress(emitter, { address, space, bytes, position });
  sources.forEach((source, index) => {
    code.get(local);
    const at = offset + index * size;
    const isFloat =
      !isAtomic(instruction) &&
      source.kind === "register" &&
      emitter.storageOf(source.id).local === (size === 8 ? "f64" : "f32");
    if (isFloat && size >= 4) {
      emitter.read(source, size === 8 ? "f64" : "f32");
      code.memory(size === 8 ? "f64.store" : "f32.store", at);
      return;
    }
    emitter.read(source, BITS[size] ?? type);
    const opcodes = isAtomic(instruction) ? ATOMIC_STORE : PLAIN_STORE;
    code.memory(opcodes[size] ?? "i32.store", at);
  });
}
