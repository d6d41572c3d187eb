/**
 * PTX text as a tree, with the place of everything in it. Nothing is resolved here: names are
 * names, and types and modifiers are the words that were written (without their dot).
 */
import type { Position } from "./diagnostic.ts";

/** `start` and `end` cut the node's own text out of the module's. */
export type Span = { readonly start: number; readonly end: number };

/** A constant. Integers are 64 bits wide, as PTX computes them; `bits` are without sign. */
export type Literal =
  | { readonly kind: "integer"; readonly bits: bigint }
  | { readonly kind: "float"; readonly bits: bigint; readonly width: 32 | 64 };

/** What an instruction works on. */
export type OperandNode = { readonly position: Position } & (
  | Literal
  /** A register, variable, label or function; `component` as in `%tid.x`; `offset` as in `a+4`. */
  | {
      readonly kind: "name";
      readonly name: string;
      readonly component: string | null;
      readonly offset: bigint;
    }
  /** `!%p`. */
  | { readonly kind: "negated"; readonly name: string }
  /** `_`, where a result is not wanted. */
  | { readonly kind: "sink" }
  /** `%p|%q`. */
  | { readonly kind: "pair"; readonly first: OperandNode; readonly second: OperandNode }
  /** `{a, b}`. */
  | { readonly kind: "vector"; readonly elements: readonly OperandNode[] }
  /** `[base+offset]`; more than one part where PTX has them, as in `[tex, {x, y}]`. */
  | { readonly kind: "memory"; readonly parts: readonly OperandNode[] }
  /** `(a, b)`, of a call. */
  | { readonly kind: "group"; readonly elements: readonly OperandNode[] }
);

/** `@%p` or `@!%p` before an instruction. */
export type GuardNode = { readonly name: string; readonly negated: boolean } & Position;

/** `opcode.modifier.modifier a, b, c;` with an optional guard. */
export type InstructionNode = Span & {
  readonly kind: "instruction";
  readonly guard: GuardNode | null;
  readonly opcode: string;
  readonly modifiers: readonly string[];
  readonly operands: readonly OperandNode[];
  readonly position: Position;
};

/** What a variable starts with. */
export type InitialiserNode = { readonly position: Position } & (
  | Literal
  /** The address of a variable; `generic` as in `generic(a)`, `mask` as in `0xff(a)`. */
  | {
      readonly kind: "address";
      readonly name: string;
      readonly offset: bigint;
      readonly isGeneric: boolean;
      readonly mask: bigint | null;
    }
  | { readonly kind: "list"; readonly elements: readonly InitialiserNode[] }
);

export type Linkage = "none" | "extern" | "visible" | "weak" | "common";

/** `.space .align n .vN .type name<count>[dimensions] = initialiser`. */
export type VariableNode = {
  readonly kind: "variable";
  readonly linkage: Linkage;
  readonly space: string;
  readonly alignment: number | null;
  readonly vectorLength: 1 | 2 | 4 | 8;
  readonly type: string;
  readonly name: string;
  /** `%r<10>` declares %r0 to %r9. */
  readonly registerCount: number | null;
  /** null: `[]`, the size is not said. */
  readonly dimensions: readonly (number | null)[];
  readonly initialiser: InitialiserNode | null;
  /** `.ptr.global.align 4` of a parameter: what it points to. Not checked, not used. */
  readonly pointer: { readonly space: string | null; readonly alignment: number | null } | null;
  readonly position: Position;
};

export type LabelNode = {
  readonly kind: "label";
  readonly name: string;
  readonly position: Position;
};

export type BlockNode = {
  readonly kind: "block";
  readonly statements: readonly StatementNode[];
  readonly position: Position;
};

/** `.loc 1 2 3`, `.pragma "x";` and other directives without effect on what is computed. */
export type DirectiveNode = {
  readonly kind: "directive";
  readonly name: string;
  readonly text: string;
  readonly position: Position;
};

export type StatementNode =
  LabelNode | InstructionNode | VariableNode | BlockNode | DirectiveNode | BranchTargetsNode;

/** `name: .branchtargets a, b;` and the other labelled tables; kept as text. */
export type BranchTargetsNode = {
  readonly kind: "table";
  readonly name: string;
  readonly text: string;
  readonly position: Position;
};

/** `.maxntid 256, 1, 1` and its like. */
export type PerformanceDirective = {
  readonly name: string;
  readonly values: readonly number[];
  readonly position: Position;
};

/** `.entry` and `.func`; `body` is null for a declaration. */
export type FunctionNode = {
  readonly kind: "function";
  readonly linkage: Linkage;
  readonly isEntry: boolean;
  readonly name: string;
  readonly returns: readonly VariableNode[];
  readonly parameters: readonly VariableNode[];
  readonly directives: readonly PerformanceDirective[];
  readonly body: BlockNode | null;
  readonly position: Position;
};

export type ModuleNode = {
  readonly version: readonly [major: number, minor: number];
  readonly targets: readonly string[];
  readonly addressBits: 32 | 64;
  readonly items: readonly (FunctionNode | VariableNode | DirectiveNode)[];
  /** The text that spans cut from. */
  readonly text: string;
};
