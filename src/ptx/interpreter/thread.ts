import { invariant } from "../../base/mod.ts";
import { isSignedType, widthOf } from "../ir/encode.ts";
import type {
  Address,
  BlockId,
  DataType,
  Guard,
  Instruction,
  Kernel,
  Operand,
  RegisterId,
  SpecialRegister,
} from "../ir/types.ts";
import { DATA_TYPE_BYTES } from "../ir/types.ts";
import {
  computeAtomic,
  computeBinary,
  computeComparison,
  computeTernary,
  computeUnary,
} from "./compute.ts";
import { computeConversion } from "./convert.ts";
import {
  fromGeneric,
  readElements,
  resolveGeneric,
  symbolAddress,
  toGeneric,
  writeElements,
  type Access,
  type Spaces,
} from "./spaces.ts";

/** Values of the special registers, for one thread. */
export type SpecialReader = (name: SpecialRegister) => bigint;

type Of<Op extends Instruction["op"]> = Extract<Instruction, { op: Op }>;

/** One thread: its registers, what it can reach, and the block that it runs next. */
export class Thread {
  block: BlockId = 0;
  state: "running" | "waiting" | "exited" = "running";
  readonly #kernel: Kernel;
  readonly #registers: bigint[];
  readonly #spaces: Spaces;
  readonly #special: SpecialReader;

  constructor(kernel: Kernel, spaces: Spaces, special: SpecialReader) {
    this.#kernel = kernel;
    this.#spaces = spaces;
    this.#special = special;
    // What PTX leaves undefined is zero here.
    this.#registers = kernel.registers.map(() => 0n);
  }

  /** The value of a predicate, as the guard reads it. */
  test({ id, negated }: Guard): boolean {
    return (this.#registers[id] === 1n) !== negated;
  }

  /** Runs one instruction, unless its guard says no. */
  execute(instruction: Instruction): void {
    if (instruction.guard !== null && !this.test(instruction.guard)) return;
    switch (instruction.op) {
      case "move": {
        const { type, destination, source } = instruction;
        this.#write(destination, type, this.#read(source, type));
        return;
      }
      case "pack":
        this.#pack(instruction);
        return;
      case "unpack":
        this.#unpack(instruction);
        return;
      case "compare":
        this.#compare(instruction);
        return;
      case "select": {
        const { type, predicate, onTrue, onFalse } = instruction;
        const chosen = this.test(predicate) ? onTrue : onFalse;
        this.#write(instruction.destination, type, this.#read(chosen, type));
        return;
      }
      case "load":
        this.#load(instruction);
        return;
      case "store":
        this.#store(instruction);
        return;
      case "atomic":
        this.#atomic(instruction);
        return;
      case "fence":
        return;
      case "unary":
      case "binary":
      case "ternary":
      case "convert":
      case "convertAddress":
        this.#compute(instruction);
    }
  }

  /** The bit pattern of an operand, at the width of `type`. */
  #read(operand: Operand, type: DataType): bigint {
    const width = widthOf(type);
    switch (operand.kind) {
      case "register":
        return BigInt.asUintN(width, this.#register(operand.id));
      case "constant":
        return operand.bits;
      case "special":
        return BigInt.asUintN(width, this.#special(operand.name));
      case "address":
        return BigInt.asUintN(width, symbolAddress(this.#spaces, operand.symbol, operand.offset));
    }
  }

  #register(id: RegisterId): bigint {
    const value = this.#registers[id];
    invariant(value !== undefined, `register ${String(id)} exists`);
    return value;
  }

  /** Writes a bit pattern as wide as `type`, extended to the register. */
  #write(id: RegisterId | null, type: DataType, bits: bigint): void {
    if (id === null) return;
    const width = widthOf(this.#kernel.registers[id]?.type ?? type);
    const value = isSignedType(type) ? BigInt.asIntN(widthOf(type), bits) : bits;
    this.#registers[id] = BigInt.asUintN(width, value);
  }

  #pack({ type, destination, sources }: Of<"pack">): void {
    const width = widthOf(type) / sources.length;
    const part = `b${String(width)}` as DataType;
    let bits = 0n;
    for (const [index, source] of sources.entries()) {
      bits |= this.#read(source, part) << BigInt(index * width);
    }
    this.#write(destination, type, bits);
  }

  #unpack({ type, destinations, source }: Of<"unpack">): void {
    const width = widthOf(type) / destinations.length;
    const part = `b${String(width)}` as DataType;
    const bits = this.#read(source, type);
    for (const [index, id] of destinations.entries()) {
      this.#write(id, part, BigInt.asUintN(width, bits >> BigInt(index * width)));
    }
  }

  #compare(instruction: Of<"compare">): void {
    const { type, comparison, combine, flushSubnormals } = instruction;
    const flush = (operand: Operand): bigint => {
      const bits = this.#read(operand, type);
      if (!flushSubnormals) return bits;
      const plain = { rounding: "none", flushSubnormals: true, saturate: false } as const;
      return computeConversion({ to: type, from: type, ...plain }, bits);
    };
    const pair: [bigint, bigint] = [flush(instruction.left), flush(instruction.right)];
    const result = computeComparison(comparison, type, pair);
    const combined = (value: boolean): bigint => {
      if (combine === null) return value ? 1n : 0n;
      const other = this.test(combine.predicate);
      const values = { and: value && other, or: value || other, xor: value !== other };
      return values[combine.function] ? 1n : 0n;
    };
    // Both are computed before either is written: the predicate combined with may be one of them.
    const [direct, complement] = [combined(result), combined(!result)];
    this.#write(instruction.destination, "pred", direct);
    this.#write(instruction.complement, "pred", complement);
  }

  #compute(
    instruction: Of<"unary"> | Of<"binary"> | Of<"ternary"> | Of<"convert"> | Of<"convertAddress">,
  ): void {
    switch (instruction.op) {
      case "unary": {
        const { type } = instruction;
        const name = instruction.function;
        const bits = computeUnary(instruction, this.#read(instruction.source, type));
        const result = name === "popc" || name === "clz" ? "u32" : type;
        this.#write(instruction.destination, result, bits);
        return;
      }
      case "binary": {
        const { type } = instruction;
        const name = instruction.function;
        const right = name === "shl" || name === "shr" ? "u32" : type;
        const left = this.#read(instruction.left, type);
        const bits = computeBinary(instruction, left, this.#read(instruction.right, right));
        this.#write(instruction.destination, wideType(type, name === "mulWide"), bits);
        return;
      }
      case "ternary": {
        const { type } = instruction;
        const wide = wideType(type, instruction.function === "madWide");
        const [a, b] = [this.#read(instruction.a, type), this.#read(instruction.b, type)];
        const bits = computeTernary(instruction, [a, b, this.#read(instruction.c, wide)]);
        this.#write(instruction.destination, wide, bits);
        return;
      }
      case "convert": {
        const bits = computeConversion(
          instruction,
          this.#read(instruction.source, instruction.from),
        );
        this.#write(instruction.destination, instruction.to, bits);
        return;
      }
      case "convertAddress": {
        const { direction, space, type } = instruction;
        const move = direction === "toGeneric" ? toGeneric : fromGeneric;
        const address = move(space, this.#read(instruction.source, type));
        this.#write(instruction.destination, type, BigInt.asUintN(widthOf(type), address));
      }
    }
  }

  #address({ base, offset }: Address): bigint {
    switch (base.kind) {
      case "register": {
        const width = widthOf(this.#kernel.registers[base.id]?.type ?? "u64");
        return BigInt.asUintN(width, this.#register(base.id) + BigInt(offset));
      }
      case "symbol":
        return symbolAddress(this.#spaces, base.symbol, offset);
      case "absolute":
        return BigInt(offset);
    }
  }

  #access(instruction: Of<"load"> | Of<"store"> | Of<"atomic">, count: number): Access {
    const bytes = DATA_TYPE_BYTES[instruction.type] * count;
    return { space: instruction.space, address: this.#address(instruction.address), bytes };
  }

  #load(instruction: Of<"load">): void {
    const { type, destinations } = instruction;
    const access = this.#access(instruction, destinations.length);
    const elements = readElements(this.#spaces, access, destinations.length);
    for (const [index, id] of destinations.entries()) {
      this.#write(id, type, elements[index] ?? 0n);
    }
  }

  #store(instruction: Of<"store">): void {
    const elements = instruction.sources.map((source) => this.#read(source, instruction.type));
    writeElements(this.#spaces, this.#access(instruction, elements.length), elements);
  }

  #atomic(instruction: Of<"atomic">): void {
    const { type, comparand } = instruction;
    const access = resolveGeneric(this.#access(instruction, 1));
    const [old = 0n] = readElements(this.#spaces, access, 1);
    const source = this.#read(instruction.source, type);
    const updated = computeAtomic(instruction, old, source, {
      comparand: comparand === null ? 0n : this.#read(comparand, type),
      // PTX ISA, atom: an f32 add flushes subnormals in global memory, and not in shared memory.
      flushSubnormals: type === "f32" && access.space === "global",
    });
    writeElements(this.#spaces, access, [updated]);
    this.#write(instruction.destination, type, old);
  }
}

const DOUBLED: Readonly<Partial<Record<DataType, DataType>>> = {
  u16: "u32",
  s16: "s32",
  u32: "u64",
  s32: "s64",
};

const wideType = (type: DataType, isWide: boolean): DataType =>
  isWide ? (DOUBLED[type] ?? type) : type;
