// Checks that a kernel is well-formed IR. What fails here is a bug of the pass before, never of the
// PTX text: so each rule is an invariant.
import { invariant } from "../../base/mod.ts";
import { isBitsType, isFloatType, widthOf } from "./encode.ts";
import { printInstruction } from "./print.ts";
import type {
  Address,
  BasicBlock,
  DataType,
  Guard,
  Instruction,
  Kernel,
  Operand,
  RegisterId,
  Symbol,
} from "./types.ts";

/** The bits that a register may have beyond those of the type. */
type Width = "exact" | "relaxed";

class Verifier {
  readonly #kernel: Kernel;
  #what = "";

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  run(): void {
    const { blocks, registers, sharedBytes, localBytes } = this.#kernel;
    invariant(blocks.length > 0, "a kernel has a block");
    invariant(sharedBytes % 16 === 0 && localBytes % 16 === 0, "segments are multiples of 16");
    for (const block of blocks) {
      for (const instruction of block.instructions) {
        this.#what = printInstruction(registers, instruction);
        this.#instruction(instruction);
      }
      this.#terminator(block);
    }
    this.#reachable();
  }

  #check(condition: boolean, rule: string): void {
    invariant(condition, `${rule}, in '${this.#what}' of kernel ${this.#kernel.name}`);
  }

  #register(id: RegisterId, type: DataType, width: Width): void {
    const register = this.#kernel.registers[id];
    this.#check(register !== undefined, `register ${String(id)} exists`);
    if (register === undefined) return;
    const [wanted, found] = [widthOf(type), widthOf(register.type)];
    this.#check(
      (type === "pred") === (register.type === "pred"),
      `'${register.name}' is a predicate exactly where one is wanted`,
    );
    this.#check(
      width === "exact" ? wanted === found : wanted <= found,
      `'${register.name}' is as wide as .${type}`,
    );
    const isBits = isBitsType(type) || isBitsType(register.type) || type === "pred";
    this.#check(
      isBits || isFloatType(type) === isFloatType(register.type),
      `'${register.name}' is of the kind of .${type}`,
    );
  }

  #target(id: RegisterId | null, type: DataType, width: Width = "exact"): void {
    if (id !== null) this.#register(id, type, width);
  }

  #symbol(symbol: Symbol): void {
    const { sharedBytes, localBytes, parameterBytes } = this.#kernel;
    const ends = { shared: sharedBytes, local: localBytes, param: parameterBytes };
    const end = symbol.offset + symbol.bytes;
    const isInside = symbol.space === "global" || symbol.space === "const";
    this.#check(isInside || end <= ends[symbol.space], `'${symbol.name}' lies in its segment`);
  }

  #operand(operand: Operand, type: DataType, width: Width = "exact"): void {
    if (operand.kind === "register") this.#register(operand.id, type, width);
    if (operand.kind === "constant") {
      const isInRange = operand.bits >= 0n && operand.bits < 1n << BigInt(widthOf(type));
      this.#check(isInRange, `a constant is the bit pattern of a .${type}`);
    }
    if (operand.kind === "address") {
      this.#symbol(operand.symbol);
      this.#check(!isFloatType(type) && widthOf(type) >= 32, "an address is 32 or 64 bits wide");
    }
    if (operand.kind === "special") this.#check(!isFloatType(type), "specials are integers");
  }

  #guard(guard: Guard | null): void {
    if (guard !== null) this.#register(guard.id, "pred", "exact");
  }

  #address({ base, offset }: Address, space: string): void {
    this.#check(Number.isSafeInteger(offset), "an offset is a safe integer");
    if (base.kind === "symbol") {
      this.#symbol(base.symbol);
      const isSame = base.symbol.space === space;
      this.#check(isSame || space === "generic", "a symbol is accessed in its own space");
    }
    if (base.kind === "register") {
      const type = this.#kernel.registers[base.id]?.type;
      const isAddress = type !== undefined && widthOf(type) >= 32 && !isFloatType(type);
      this.#check(isAddress, "an address is held by a 32- or 64-bit integer register");
    }
  }

  #instruction(instruction: Instruction): void {
    this.#guard(instruction.guard);
    switch (instruction.op) {
      case "load":
        this.#address(instruction.address, instruction.space);
        this.#count(instruction.destinations.length, [1, 2, 4]);
        for (const id of instruction.destinations) this.#target(id, instruction.type, "relaxed");
        return;
      case "store":
        this.#address(instruction.address, instruction.space);
        this.#count(instruction.sources.length, [1, 2, 4]);
        for (const source of instruction.sources) {
          this.#operand(source, instruction.type, "relaxed");
        }
        return;
      case "atomic": {
        const { type, comparand } = instruction;
        this.#address(instruction.address, instruction.space);
        this.#target(instruction.destination, type);
        this.#operand(instruction.source, type);
        this.#check((comparand !== null) === (instruction.function === "cas"), "cas compares");
        if (comparand !== null) this.#operand(comparand, type);
        return;
      }
      case "fence":
        return;
      case "move":
      case "pack":
      case "unpack":
      case "compare":
      case "select":
      case "convert":
      case "convertAddress":
      case "unary":
      case "binary":
      case "ternary":
        this.#computation(instruction);
    }
  }

  #count(count: number, allowed: readonly number[]): void {
    this.#check(allowed.includes(count), `${allowed.join(" or ")} elements`);
  }

  #computation(
    instruction: Exclude<Instruction, { op: "load" | "store" | "atomic" | "fence" }>,
  ): void {
    switch (instruction.op) {
      case "move":
        this.#target(instruction.destination, instruction.type);
        this.#operand(instruction.source, instruction.type);
        return;
      case "pack":
      case "unpack":
        this.#vector(instruction);
        return;
      case "compare": {
        this.#target(instruction.destination, "pred");
        this.#target(instruction.complement, "pred");
        this.#operand(instruction.left, instruction.type);
        this.#operand(instruction.right, instruction.type);
        this.#guard(instruction.combine?.predicate ?? null);
        return;
      }
      case "select":
        this.#target(instruction.destination, instruction.type);
        this.#operand(instruction.onTrue, instruction.type);
        this.#operand(instruction.onFalse, instruction.type);
        this.#guard(instruction.predicate);
        return;
      case "convert":
        this.#target(instruction.destination, instruction.to, "relaxed");
        this.#operand(instruction.source, instruction.from, "relaxed");
        return;
      case "convertAddress":
        this.#target(instruction.destination, instruction.type);
        this.#operand(instruction.source, instruction.type);
        return;
      case "unary":
      case "binary":
      case "ternary":
        this.#arithmetic(instruction);
    }
  }

  #vector(instruction: Extract<Instruction, { op: "pack" | "unpack" }>): void {
    const isPack = instruction.op === "pack";
    const parts = isPack ? instruction.sources.length : instruction.destinations.length;
    this.#count(parts, [2, 4]);
    const part = `b${String(widthOf(instruction.type) / parts)}` as DataType;
    if (isPack) {
      this.#target(instruction.destination, instruction.type);
      for (const source of instruction.sources) this.#operand(source, part);
    } else {
      this.#operand(instruction.source, instruction.type);
      for (const id of instruction.destinations) this.#target(id, part);
    }
  }

  #arithmetic(instruction: Extract<Instruction, { op: "unary" | "binary" | "ternary" }>): void {
    const { type } = instruction;
    const name = instruction.function;
    const doubled = `u${String(widthOf(type) * 2)}` as DataType;
    const result =
      name === "popc" || name === "clz"
        ? "u32"
        : name === "mulWide" || name === "madWide"
          ? doubled
          : type;
    this.#target(instruction.destination, result);
    if (instruction.op === "unary") this.#operand(instruction.source, type);
    if (instruction.op === "binary") {
      this.#operand(instruction.left, type);
      this.#operand(instruction.right, name === "shl" || name === "shr" ? "u32" : type);
    }
    if (instruction.op === "ternary") {
      this.#operand(instruction.a, type);
      this.#operand(instruction.b, type);
      this.#operand(instruction.c, result);
    }
  }

  #targets({ terminator }: BasicBlock): readonly number[] {
    if (terminator.kind === "jump") return [terminator.target];
    if (terminator.kind === "barrier") return [terminator.resume];
    if (terminator.kind === "branch") return [terminator.onTrue, terminator.onFalse];
    return [];
  }

  #terminator(block: BasicBlock): void {
    this.#what = block.terminator.kind;
    if (block.terminator.kind === "branch") this.#guard(block.terminator.predicate);
    for (const target of this.#targets(block)) {
      this.#check(this.#kernel.blocks[target] !== undefined, `block ${String(target)} exists`);
    }
  }

  #reachable(): void {
    const reached = new Set([0]);
    for (const id of reached) {
      const block = this.#kernel.blocks[id];
      if (block !== undefined) for (const target of this.#targets(block)) reached.add(target);
    }
    this.#what = "the graph";
    this.#check(reached.size === this.#kernel.blocks.length, "every block can be reached");
  }
}

/** Dies by `invariant` if the kernel breaks a rule of the IR. */
export function verifyKernel(kernel: Kernel): void {
  new Verifier(kernel).run();
}
