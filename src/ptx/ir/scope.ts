import type { VariableNode } from "../syntax/ast.ts";
import { Refusal, type Position } from "../syntax/diagnostic.ts";
import { REGISTERS_MAX } from "../syntax/limits.ts";
import type { DataType, RegisterId, Symbol, VirtualRegister } from "./types.ts";
import { DATA_TYPE_BYTES } from "./types.ts";

/** A symbol whose offset is known only when its segment is laid out. */
export type MutableSymbol = { -readonly [Key in keyof Symbol]: Symbol[Key] };

/** What a name stands for. */
export type Meaning =
  | { readonly kind: "register"; readonly type: DataType; readonly id: RegisterId }
  | { readonly kind: "symbol"; readonly symbol: Symbol }
  | { readonly kind: "label"; readonly block: number }
  /** Known, but nothing an instruction can use here; `what` completes "… is". */
  | { readonly kind: "unusable"; readonly what: string };

/** Makes the meaning when the name is first used: what is never used costs nothing. */
type Lazy = () => Meaning;

type Range = { readonly count: number; readonly make: (index: number) => Meaning };

/** The registers of one kernel, numbered as they are first used. */
export class RegisterFile {
  readonly registers: VirtualRegister[] = [];

  add(name: string, type: DataType, position: Position): RegisterId {
    if (this.registers.length >= REGISTERS_MAX) {
      throw new Refusal("limit_exceeded", position, `more than ${REGISTERS_MAX} registers`);
    }
    this.registers.push({ name, type });
    return this.registers.length - 1;
  }
}

/** The names of one `{ }` block, over those of the blocks around it. */
export class Scope {
  readonly #outer: Scope | null;
  readonly #names = new Map<string, Meaning | Lazy>();
  readonly #ranges = new Map<string, Range>();

  constructor(outer: Scope | null) {
    this.#outer = outer;
  }

  declare(name: string, meaning: Meaning | Lazy, position: Position): void {
    if (this.#names.has(name)) {
      throw new Refusal("invalid_ptx", position, `'${name}' is declared twice in the same block`);
    }
    this.#names.set(name, meaning);
  }

  /** `%r<10>` declares %r0 to %r9. */
  declareRange(prefix: string, range: Range, position: Position): void {
    if (this.#ranges.has(prefix)) {
      const message = `'${prefix}<…>' is declared twice in the same block`;
      throw new Refusal("invalid_ptx", position, message);
    }
    this.#ranges.set(prefix, range);
  }

  find(name: string): Meaning | null {
    const here = this.#names.get(name) ?? this.#findInRanges(name);
    if (here === undefined) return this.#outer?.find(name) ?? null;
    if (typeof here !== "function") return here;
    const meaning = here();
    this.#names.set(name, meaning);
    return meaning;
  }

  #findInRanges(name: string): Lazy | undefined {
    for (let length = name.length - 1; length > 0; length -= 1) {
      const digits = name.slice(length);
      if (!/^(?:0|[1-9][0-9]*)$/.test(digits)) {
        if (!/^[0-9]+$/.test(digits)) return undefined;
        continue;
      }
      const range = this.#ranges.get(name.slice(0, length));
      if (range !== undefined && Number(digits) < range.count) {
        return () => range.make(Number(digits));
      }
    }
    return undefined;
  }
}

/** The data type that a word names, or null: PTX has more types than the IR. */
export function dataTypeOf(word: string): DataType | null {
  return Object.hasOwn(DATA_TYPE_BYTES, word) ? (word as DataType) : null;
}

/** Declares what a `.reg` names. */
export function declareRegister(scope: Scope, file: RegisterFile, node: VariableNode): void {
  const type = node.vectorLength === 1 ? dataTypeOf(node.type) : null;
  const make = (name: string): Meaning => {
    if (type === null) return { kind: "unusable", what: `a register of type .${node.type}` };
    return { kind: "register", type, id: file.add(name, type, node.position) };
  };
  if (node.registerCount === null) {
    scope.declare(node.name, () => make(node.name), node.position);
    return;
  }
  const range = {
    count: node.registerCount,
    make: (index: number) => make(`${node.name}${index}`),
  };
  scope.declareRange(node.name, range, node.position);
}
