import { invariant } from "../../base/mod.ts";
import type { InstructionNode, OperandNode } from "../syntax/ast.ts";
import { Refusal, type Position } from "../syntax/diagnostic.ts";
import type { BlockBuilder } from "./block-builder.ts";
import { encodeLiteral, isBitsType, isFloatType, widthOf } from "./encode.ts";
import { formatForm, type Match } from "./form.ts";
import type { Meaning, Scope } from "./scope.ts";
import { dataTypeOf } from "./scope.ts";
import { findSpecialRegister, isRefusedSpecialRegister, specialRegisterType } from "./special.ts";
import type {
  Address,
  BlockId,
  DataType,
  Guard,
  Operand,
  Operation,
  RegisterId,
  StateSpace,
  Symbol,
  Terminator,
} from "./types.ts";

type NameNode = Extract<OperandNode, { kind: "name" }>;
type RegisterMeaning = Extract<Meaning, { kind: "register" }>;

/** `exact`: the operand is as wide as the type. `relaxed`: it may be wider (load, store, cvt). */
export type Width = "exact" | "relaxed";

/** A terminator without its place, which the reader knows. */
type End = Terminator extends infer T ? (T extends unknown ? Omit<T, "position"> : never) : never;

/** PTX's rule for a register of one type where an instruction wants another. */
function isCompatible(wanted: DataType, register: DataType, width: Width): boolean {
  if (wanted === register) return true;
  if (wanted === "pred" || register === "pred") return false;
  const [wantedBits, registerBits] = [widthOf(wanted), widthOf(register)];
  if (registerBits < wantedBits || (width === "exact" && registerBits > wantedBits)) return false;
  if (isBitsType(wanted) || isBitsType(register)) return true;
  return isFloatType(wanted) === isFloatType(register) && !isFloatType(wanted);
}

/** One instruction, as the builder of its form reads it: an operand is checked when asked for. */
export class InstructionReader {
  readonly node: InstructionNode;
  readonly position: Position;
  readonly #match: Match;
  readonly #scope: Scope;
  readonly #blocks: BlockBuilder;
  readonly #guard: Guard | null;

  constructor(node: InstructionNode, match: Match, scope: Scope, blocks: BlockBuilder) {
    this.node = node;
    const { line, column } = node.position;
    this.position = { line, column };
    this.#match = match;
    this.#scope = scope;
    this.#blocks = blocks;
    this.#guard = this.#readGuard();
  }

  /** What was written in a slot of the form; null where nothing was. */
  choice(slot: string): string | null {
    return this.#match.choices.get(slot) ?? null;
  }

  has(slot: string): boolean {
    return this.#match.choices.has(slot);
  }

  /** The data type that was written in a slot. */
  type(slot = "type"): DataType {
    const type = dataTypeOf(this.choice(slot) ?? "");
    invariant(type !== null, `the form of '${this.node.opcode}' has a type in '${slot}'`);
    return type;
  }

  invalid(message: string, position: Position = this.position): Refusal {
    return new Refusal("invalid_ptx", position, message);
  }

  unsupported(message: string, position: Position = this.position): Refusal {
    return new Refusal("unsupported_instruction", position, message);
  }

  /** Refuses an instruction that has not this number of operands. */
  expectOperands(min: number, max = min): void {
    const count = this.node.operands.length;
    if (count >= min && count <= max) return;
    const wanted = min === max ? String(min) : `${min} to ${max}`;
    const name = formatForm(this.#match.form);
    throw this.invalid(`found ${count} operands, but ${name} has ${wanted}`);
  }

  operand(index: number): OperandNode {
    const node = this.node.operands[index];
    if (node === undefined) throw this.invalid(`operand ${index + 1} is missing`);
    return node;
  }

  /** A register that is written. */
  destination(index: number, type: DataType, width: Width = "exact"): RegisterId {
    return this.destinationOf(this.operand(index), type, width);
  }

  destinationOf(node: OperandNode, type: DataType, width: Width = "exact"): RegisterId {
    if (node.kind !== "name") {
      throw this.invalid(`found ${this.#describe(node)}, expected a register`, node.position);
    }
    return this.#register(node, type, width).id;
  }

  /** A register that is written, or null for `_`. */
  destinationOrSink(node: OperandNode, type: DataType, width: Width): RegisterId | null {
    return node.kind === "sink" ? null : this.destinationOf(node, type, width);
  }

  /** A value that is read. */
  source(index: number, type: DataType, width: Width = "exact"): Operand {
    return this.sourceOf(this.operand(index), type, width);
  }

  sourceOf(node: OperandNode, type: DataType, width: Width = "exact"): Operand {
    if (node.kind === "integer" || node.kind === "float") {
      const bits = encodeLiteral(node, type);
      if (bits !== null) return { kind: "constant", bits: type === "pred" ? bits & 1n : bits };
      const what = node.kind === "integer" ? "an integer" : "a floating-point number";
      throw this.invalid(`found ${what}, expected a value of type .${type}`, node.position);
    }
    if (node.kind !== "name") {
      const found = this.#describe(node);
      throw this.invalid(`found ${found}, expected a value of type .${type}`, node.position);
    }
    return this.#special(node, type, width) ?? this.#named(node, type, width);
  }

  /** A predicate that is read, perhaps negated. */
  predicate(index: number): Guard {
    const node = this.operand(index);
    if (node.kind !== "negated") return { id: this.destinationOf(node, "pred"), negated: false };
    const { name, position } = node;
    const plain = { kind: "name", name, component: null, offset: 0n, position } as const;
    return { id: this.#register(plain, "pred", "exact").id, negated: true };
  }

  /** `[base+offset]` in a space. */
  address(index: number, space: StateSpace | "generic"): Address {
    const node = this.operand(index);
    if (node.kind !== "memory") {
      throw this.invalid(`found ${this.#describe(node)}, expected an address`, node.position);
    }
    const [part, extra] = node.parts;
    if (part === undefined || extra !== undefined) {
      throw this.invalid("an address has one part", node.position);
    }
    if (part.kind === "integer")
      return { base: { kind: "absolute" }, offset: this.#offset(part.bits) };
    if (part.kind !== "name") {
      throw this.invalid(`found ${this.#describe(part)}, expected a base`, part.position);
    }
    return this.#addressOf(part, space);
  }

  /** The block that a label starts. */
  label(index: number): BlockId {
    const node = this.operand(index);
    const meaning = node.kind === "name" ? this.#scope.find(node.name) : null;
    if (meaning?.kind === "label") return meaning.block;
    throw this.invalid(`found ${this.#describe(node)}, expected a label in scope`, node.position);
  }

  /** Appends an operation, under the instruction's guard. */
  emit(operation: Operation): void {
    this.#blocks.append({ ...operation, guard: this.#guard, position: this.position });
  }

  /** Ends the block, and goes on in the block that `make` is given; under a guard, only then. */
  end(make: (resume: BlockId) => End): void {
    const { position } = this;
    const resume = this.#blocks.create();
    const end = make(resume);
    if (this.#guard === null) {
      this.#blocks.terminate({ ...end, position }, resume);
      return;
    }
    const taken = end.kind === "jump" ? end.target : this.#blocks.create();
    const branch = { kind: "branch", predicate: this.#guard, position } as const;
    this.#blocks.terminate({ ...branch, onTrue: taken, onFalse: resume }, taken);
    if (end.kind === "jump") this.#blocks.goOnIn(resume);
    else this.#blocks.terminate({ ...end, position }, resume);
  }

  #readGuard(): Guard | null {
    const { guard } = this.node;
    if (guard === null) return null;
    const { name, negated, line, column } = guard;
    const position = { line, column };
    const node = { kind: "name", name, component: null, offset: 0n, position } as const;
    return { id: this.#register(node, "pred", "exact").id, negated };
  }

  #find(node: NameNode): Meaning {
    const meaning = this.#scope.find(node.name);
    if (meaning !== null && meaning.kind !== "unusable") return meaning;
    if (meaning !== null || isRefusedSpecialRegister(node.name)) {
      const what = meaning?.what ?? "a special register";
      const message = `'${node.name}' is ${what}, which is not supported here`;
      throw new Refusal("unsupported_feature", node.position, message);
    }
    throw this.invalid(`'${node.name}' is not declared`, node.position);
  }

  #register(node: NameNode, type: DataType, width: Width): RegisterMeaning {
    const meaning = this.#find(node);
    if (meaning.kind !== "register" || node.component !== null || node.offset !== 0n) {
      throw this.invalid(`found ${this.#describe(node)}, expected a register`, node.position);
    }
    if (!isCompatible(type, meaning.type, width)) {
      const message = `'${node.name}' is .${meaning.type}, but a .${type} is wanted here`;
      throw this.invalid(message, node.position);
    }
    return meaning;
  }

  #special(node: NameNode, type: DataType, width: Width): Operand | null {
    if (node.name === "WARP_SZ") return { kind: "constant", bits: 32n };
    const name = findSpecialRegister(node.name, node.component);
    if (name === null) return null;
    const own = specialRegisterType(name);
    // PTX 1.x had 16-bit special registers, and text from then still reads them as such.
    const isLegacy = own === "u32" && widthOf(type) === 16 && !isFloatType(type);
    if (!isLegacy && !isCompatible(type, own, width)) {
      const message = `'${node.name}' is .${own}, but a .${type} is wanted here`;
      throw this.invalid(message, node.position);
    }
    return { kind: "special", name };
  }

  #named(node: NameNode, type: DataType, width: Width): Operand {
    const meaning = this.#find(node);
    if (meaning.kind !== "symbol") {
      return { kind: "register", id: this.#register(node, type, width).id };
    }
    if (isFloatType(type) || widthOf(type) < 32) {
      const message = `'${node.name}' is an address, but a .${type} is wanted here`;
      throw this.invalid(message, node.position);
    }
    const { symbol } = meaning;
    return { kind: "address", symbol, offset: this.#offset(node.offset) };
  }

  #addressOf(node: NameNode, space: StateSpace | "generic"): Address {
    const offset = this.#offset(node.offset);
    const meaning = this.#find(node);
    if (meaning.kind === "symbol") {
      this.#checkSpace(meaning.symbol, space, node.position);
      return { base: { kind: "symbol", symbol: meaning.symbol }, offset };
    }
    if (meaning.kind !== "register" || node.component !== null) {
      throw this.invalid(`found ${this.#describe(node)}, expected an address`, node.position);
    }
    const isAddress = widthOf(meaning.type) >= 32 && !isFloatType(meaning.type);
    if (!isAddress) {
      const message = `'${node.name}' is .${meaning.type}, which cannot hold an address`;
      throw this.invalid(message, node.position);
    }
    return { base: { kind: "register", id: meaning.id }, offset };
  }

  #checkSpace(symbol: Symbol, space: StateSpace | "generic", position: Position): void {
    // A global address and its generic one are the same number.
    if (symbol.space === space || (space === "generic" && symbol.space === "global")) return;
    const message = `'${symbol.name}' is in .${symbol.space}, but the access is ${space}`;
    throw this.invalid(message, position);
  }

  #offset(bits: bigint): number {
    const value = BigInt.asIntN(64, bits);
    if (value === BigInt.asIntN(53, value)) return Number(value);
    throw this.invalid(`the offset ${value.toString()} is out of range`);
  }

  #describe(node: OperandNode): string {
    switch (node.kind) {
      case "name":
        return `'${node.component === null ? node.name : `${node.name}.${node.component}`}'`;
      case "negated":
        return `'!${node.name}'`;
      case "sink":
        return "'_'";
      case "pair":
        return "a pair";
      case "vector":
        return "a vector";
      case "memory":
        return "an address in brackets";
      case "group":
        return "a group in parentheses";
      case "integer":
      case "float":
        return "a number";
    }
  }
}
