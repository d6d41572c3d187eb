/**
 * The code of one function over a kernel's registers: where each register lives, and how operands
 * are read and results written, whatever types the instruction and the register have.
 *
 * A narrow value on the wasm stack is an i32 that holds exactly its value: sign-extended for s8 and
 * s16, zero-extended for the rest. A narrow register's local is always zero-extended.
 */
import { invariant, unreachable } from "../../../base/mod.ts";
import {
  DATA_TYPE_BYTES,
  type DataType,
  type Guard,
  type Kernel,
  type Operand,
  type RegisterId,
  type Symbol,
} from "../../ir/types.ts";
import type { Code } from "../../wasm/code.ts";
import type { ValueType } from "../../wasm/value-type.ts";
import { valueTypeOf, type RegisterStorage, type Storage } from "../analysis/storage.ts";
import type { HelperName } from "../helpers/catalogue.ts";
import type { HostFunction } from "../imports.ts";
import { BlockValues, type BlockValueName } from "./block-values.ts";
import { writeSpecial } from "./special.ts";
import { ThreadValues } from "./thread-values.ts";

/** What all functions of one kernel share. */
export type KernelContext = {
  readonly kernel: Kernel;
  readonly storage: Storage;
  readonly helper: (name: HelperName) => number;
  readonly host: (name: HostFunction) => number;
};

/** CUDA's one f32 NaN. */
export const F32_NAN_BITS = 0x7fffffff;

export const isSigned = (type: DataType): boolean => type.startsWith("s");
export const widthOf = (type: DataType): number => DATA_TYPE_BYTES[type] * 8;

/** The integer type in which wasm computes on a PTX integer type. */
export const integerOf = (type: DataType): "i32" | "i64" => (widthOf(type) === 64 ? "i64" : "i32");

export class Emitter {
  readonly context: KernelContext;
  readonly blockValues: BlockValues;
  readonly threadValues: ThreadValues;
  /** What instructions are written to now. */
  code: Code;
  readonly #locals = new Map<RegisterId, number>();
  readonly #temporaries = new Map<ValueType, number[]>();
  readonly #temporariesUsed = new Map<ValueType, number>();

  constructor(context: KernelContext, code: Code) {
    this.context = context;
    this.code = code;
    this.blockValues = new BlockValues(code);
    this.threadValues = new ThreadValues(code, this.blockValues, context.kernel.localBytes);
  }

  get kernel(): Kernel {
    return this.context.kernel;
  }

  /** The registers that have a local. */
  registers(): readonly RegisterId[] {
    return [...this.#locals.keys()];
  }

  storageOf(id: RegisterId): RegisterStorage {
    const storage = this.context.storage[id];
    invariant(storage !== undefined, `register ${id} exists`);
    return storage;
  }

  typeOf(id: RegisterId): DataType {
    const register = this.kernel.registers[id];
    invariant(register !== undefined, `register ${id} exists`);
    return register.type;
  }

  /** The local of a register. */
  register(id: RegisterId): number {
    const known = this.#locals.get(id);
    if (known !== undefined) return known;
    const local = this.code.local(this.storageOf(id).local);
    this.#locals.set(id, local);
    return local;
  }

  /** A local that is free until the current instruction ends. */
  temporary(type: ValueType): number {
    const locals = this.#temporaries.get(type) ?? [];
    this.#temporaries.set(type, locals);
    const used = this.#temporariesUsed.get(type) ?? 0;
    this.#temporariesUsed.set(type, used + 1);
    return (locals[used] ??= this.code.local(type));
  }

  /** Ends an instruction: all temporaries are free again. */
  releaseTemporaries(): void {
    this.#temporariesUsed.clear();
  }

  /** Moves the top of the stack into a temporary. */
  spill(type: ValueType): number {
    const local = this.temporary(type);
    this.code.set(local);
    return local;
  }

  blockValue(name: BlockValueName): Code {
    return this.code.get(this.blockValues.local(name));
  }

  call(name: HelperName): Code {
    return this.code.call(this.context.helper(name));
  }

  /** Pushes a predicate as 0 or 1. */
  predicate({ id, negated }: Guard): Code {
    this.code.get(this.register(id));
    return negated ? this.code.op("i32.eqz") : this.code;
  }

  /**
   * Pushes an operand, read as `type`. Where only the value of an f32 matters and not the bits of
   * its NaN, as for arithmetic, say so: a lax register then needs no more than its local.
   */
  read(operand: Operand, type: DataType, use: "bits" | "value" = "bits"): Code {
    switch (operand.kind) {
      case "register":
        return this.#readRegister(operand.id, type, use);
      case "constant":
        return this.#constant(operand.bits, type);
      case "special":
        return this.#convert(writeSpecial(this, operand.name), "u64", type);
      case "address":
        this.symbolAddress(operand.symbol).i32(operand.offset).op("i32.add");
        return this.#convert("i32", "u32", type);
      default:
        return unreachable(operand);
    }
  }

  /** Pushes the address of a variable. */
  symbolAddress(symbol: Symbol): Code {
    const base = this.symbolBase(symbol);
    return symbol.offset === 0 ? base : base.i32(symbol.offset).op("i32.add");
  }

  /** Pushes the address that a variable's offset is counted from. */
  symbolBase({ space }: Symbol): Code {
    switch (space) {
      case "param":
        return this.blockValue("parameters");
      case "global":
      case "const":
        return this.blockValue("moduleData");
      case "shared":
        return this.blockValue("shared");
      case "local":
        return this.code.get(this.threadValues.local("local"));
    }
  }

  #constant(bits: bigint, type: DataType): Code {
    const width = widthOf(type);
    const held = valueTypeOf(type);
    if (held === "f32") return this.code.f32(Number(bits));
    if (held === "f64") return this.code.f64(bits);
    if (held === "i64") return this.code.i64(BigInt.asIntN(64, bits));
    if (type === "pred") return this.code.i32(Number(bits & 1n));
    const value = isSigned(type) ? BigInt.asIntN(width, bits) : BigInt.asUintN(width, bits);
    return this.code.i32(Number(value));
  }

  #readRegister(id: RegisterId, type: DataType, use: "bits" | "value"): Code {
    const { local, isLax } = this.storageOf(id);
    this.code.get(this.register(id));
    if (isLax && (use === "bits" || type !== "f32")) this.canonicalise(this.register(id));
    return this.#convert(local, this.typeOf(id), type);
  }

  /** Replaces the f32 on the stack, which is also in `local`, by CUDA's NaN if it is one. */
  canonicalise(local: number): Code {
    return this.code.f32(F32_NAN_BITS).get(local).get(local).ops("f32.eq", "select");
  }

  /** Converts the value on the stack, held as `from`, to how `type` is held, by its low bits. */
  #convert(from: ValueType, fromType: DataType, type: DataType): Code {
    const to = valueTypeOf(type);
    let held = from;
    if (held === to && (held === "f32" || held === "f64")) return this.code;
    if (held === "f32") held = this.#apply("i32.reinterpret_f32", "i32");
    if (held === "f64") held = this.#apply("i64.reinterpret_f64", "i64");
    const wanted = to === "f32" ? "i32" : to === "f64" ? "i64" : to;
    if (held === "i64" && wanted === "i32") this.code.op("i32.wrap_i64");
    if (held === "i32" && wanted === "i64") {
      this.code.op(isSigned(fromType) ? "i64.extend_i32_s" : "i64.extend_i32_u");
    }
    if (to === "f32") return this.code.op("f32.reinterpret_i32");
    if (to === "f64") return this.code.op("f64.reinterpret_i64");
    return this.#narrow(type, widthOf(fromType));
  }

  #apply(op: "i32.reinterpret_f32" | "i64.reinterpret_f64", result: ValueType): ValueType {
    this.code.op(op);
    return result;
  }

  /** Makes an i32 of which `width` bits are known to be meaningful a proper value of `type`. */
  #narrow(type: DataType, width: number): Code {
    if (type === "pred" || widthOf(type) >= 32) return this.code;
    return this.extend(type, width);
  }

  /** Makes the i32 on the stack a proper value of a narrow type; `width` bits of it are not 0. */
  extend(type: DataType, width = 32): Code {
    if (type === "s8") return this.code.op("i32.extend8_s");
    if (type === "s16") return this.code.op("i32.extend16_s");
    if (width <= widthOf(type)) return this.code;
    return this.code.i32(widthOf(type) === 8 ? 0xff : 0xffff).op("i32.and");
  }

  /**
   * Pops a value of `type` into a register, which may be wider or narrower. `isArithmetic`: an f32
   * whose NaN may have any bits and stands for CUDA's.
   */
  write(id: RegisterId, type: DataType, isArithmetic = false): void {
    const { local, isLax } = this.storageOf(id);
    const held = valueTypeOf(type);
    if (isArithmetic && type === "f32" && !isLax) {
      const temporary = this.temporary("f32");
      this.code.tee(temporary);
      this.canonicalise(temporary);
    }
    this.#widen(held, type, local);
    const width = widthOf(this.typeOf(id));
    const isExact = !isSigned(type) && widthOf(type) <= width;
    if (local === "i32" && width > 0 && width < 32 && !isExact) {
      this.code.i32(width === 8 ? 0xff : 0xffff).op("i32.and");
    }
    this.code.set(this.register(id));
  }

  /** Converts a value of `type` to the wasm type of a register's local. */
  #widen(held: ValueType, type: DataType, local: ValueType): void {
    if (held === local) return;
    if (held === "f32") this.code.op("i32.reinterpret_f32");
    if (held === "f64") this.code.op("i64.reinterpret_f64");
    const from = held === "f32" ? "i32" : held === "f64" ? "i64" : held;
    const to = local === "f32" ? "i32" : local === "f64" ? "i64" : local;
    if (from === "i32" && to === "i64") {
      this.code.op(isSigned(type) ? "i64.extend_i32_s" : "i64.extend_i32_u");
    }
    if (from === "i64" && to === "i32") this.code.op("i32.wrap_i64");
    if (local === "f32") this.code.op("f32.reinterpret_i32");
    if (local === "f64") this.code.op("f64.reinterpret_i64");
  }
}
