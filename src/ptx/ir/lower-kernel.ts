import { SHARED_BYTES_PER_BLOCK_MAX } from "../abi.ts";
import type { BlockNode, FunctionNode, StatementNode, VariableNode } from "../syntax/ast.ts";
import { Refusal, type Position } from "../syntax/diagnostic.ts";
import { LOCAL_BYTES_MAX } from "../syntax/limits.ts";
import { BlockBuilder } from "./block-builder.ts";
import { alignUp, layoutVariable } from "./layout.ts";
import { findForm } from "./opcodes/table.ts";
import { InstructionReader } from "./reader.ts";
import { declareRegister, RegisterFile, Scope, type Meaning, type MutableSymbol } from "./scope.ts";
import type { Kernel, Parameter } from "./types.ts";

/** Segments are multiples of this, so that what follows them is aligned for any vector. */
const SEGMENT_ALIGNMENT = 16;

/** `.shared` or `.local` memory, handed out to the variables that the kernel really uses. */
class Segment {
  #end = 0;
  readonly #unsized: MutableSymbol[] = [];
  readonly #space: "shared" | "local";

  constructor(space: "shared" | "local") {
    this.#space = space;
  }

  place(node: VariableNode): Meaning {
    const space = this.#space;
    const { bytes, alignment } = layoutVariable(node);
    const isUnsized = node.linkage === "extern" && bytes === 0;
    if (node.linkage === "extern" && !isUnsized) {
      return { kind: "unusable", what: "defined in another module" };
    }
    const offset = alignUp(this.#end, alignment);
    const symbol: MutableSymbol = { name: node.name, space, offset, bytes };
    if (isUnsized) this.#unsized.push(symbol);
    else this.#end = offset + bytes;
    return { kind: "symbol", symbol };
  }

  /** The bytes used; arrays without a size begin behind them. */
  close(limit: number, position: Position): number {
    const bytes = alignUp(this.#end, SEGMENT_ALIGNMENT);
    if (bytes > limit) {
      const message = `the kernel's ${this.#space} memory has ${bytes} bytes; at most ${limit}`;
      throw new Refusal("limit_exceeded", position, message);
    }
    for (const symbol of this.#unsized) symbol.offset = bytes;
    return bytes;
  }
}

const SHARED_SPACES = new Set(["shared", "shared::cta"]);

/** Lowers the body of one kernel. */
class KernelLowering {
  readonly #text: string;
  readonly #blocks = new BlockBuilder();
  readonly #registers = new RegisterFile();
  readonly #shared = new Segment("shared");
  readonly #local = new Segment("local");

  constructor(text: string) {
    this.#text = text;
  }

  run(source: KernelSource): Kernel {
    const { node, parameters, parameterBytes } = source;
    const moduleScope = new Scope(source.scope);
    for (const variable of source.shared) this.#declareVariable(moduleScope, variable);
    const scope = new Scope(moduleScope);
    for (const { name, offset, bytes } of parameters) {
      const symbol = { name, space: "param", offset, bytes } as const;
      scope.declare(name, { kind: "symbol", symbol }, node.position);
    }
    this.#block(source.body, scope);
    const end = source.body.position;
    const blocks = this.#blocks.finish(end);
    return {
      name: node.name,
      parameters,
      parameterBytes,
      registers: this.#registers.registers,
      blocks,
      sharedBytes: this.#shared.close(SHARED_BYTES_PER_BLOCK_MAX, node.position),
      localBytes: this.#local.close(LOCAL_BYTES_MAX, node.position),
      threadsMax: threadsMaxOf(node),
    };
  }

  #block(node: BlockNode, outer: Scope): void {
    const scope = new Scope(outer);
    for (const statement of node.statements) this.#declare(statement, scope);
    for (const statement of node.statements) this.#statement(statement, scope);
  }

  #declare(statement: StatementNode, scope: Scope): void {
    if (statement.kind === "variable") this.#declareVariable(scope, statement);
    if (statement.kind === "label") {
      const block = this.#blocks.create();
      scope.declare(statement.name, { kind: "label", block }, statement.position);
    }
  }

  #declareVariable(scope: Scope, node: VariableNode): void {
    const { name, position, space } = node;
    if (space === "reg") declareRegister(scope, this.#registers, node);
    else if (SHARED_SPACES.has(space)) {
      scope.declare(name, () => this.#shared.place(node), position);
    } else if (space === "local") {
      scope.declare(name, () => this.#local.place(node), position);
    } else {
      const what = `a .${space} variable inside a kernel`;
      scope.declare(name, { kind: "unusable", what }, position);
    }
  }

  #statement(statement: StatementNode, scope: Scope): void {
    switch (statement.kind) {
      case "block":
        this.#block(statement, scope);
        return;
      case "label": {
        const meaning = scope.find(statement.name);
        if (meaning?.kind === "label") this.#blocks.fallInto(meaning.block, statement.position);
        return;
      }
      case "instruction": {
        const text = this.#text.slice(statement.start, statement.end).replaceAll(/\s+/g, " ");
        const match = findForm(statement, text);
        match.form.build?.(new InstructionReader(statement, match, scope, this.#blocks));
        return;
      }
      case "variable":
      case "directive":
      case "table":
    }
  }
}

/** From .maxntid and .reqntid: the most threads of a block. */
function threadsMaxOf({ directives }: FunctionNode): number | null {
  const limits = directives
    .filter(({ name }) => name === "maxntid" || name === "reqntid")
    .map(({ values }) => values.reduce((product, value) => product * value, 1));
  return limits.length === 0 ? null : Math.min(...limits);
}

/** What a kernel is made from. */
export type KernelSource = {
  readonly node: FunctionNode;
  readonly body: BlockNode;
  readonly parameters: readonly Parameter[];
  readonly parameterBytes: number;
  /** The module's names. */
  readonly scope: Scope;
  /** The module's `.shared` variables: each kernel has its own copy of those that it uses. */
  readonly shared: readonly VariableNode[];
};

/** Lowers one kernel; throws a Refusal where it cannot be run. */
export function lowerKernel(source: KernelSource, text: string): Kernel {
  return new KernelLowering(text).run(source);
}

/** A kernel that is only declared. */
export function refuseDeclaration(name: string, position: Position): Refusal {
  return new Refusal("invalid_ptx", position, `the kernel '${name}' is declared and has no body`);
}
