/**
 * The PTX intermediate representation: a kernel as a control-flow graph of typed instructions with
 * every name resolved. The front end (syntax, lowering) makes it, and both engines read it: the
 * interpreter, which is the oracle, and the code generator. Whatever neither engine can do is
 * refused while this is made, by name and position; so an engine never meets an instruction it does
 * not know.
 *
 * Semantics follow the PTX ISA document; the comments name its instruction where ours differs.
 */

import type { Result } from "../../base/mod.ts";
import type { Diagnostic, Position } from "../syntax/diagnostic.ts";

export type { Diagnostic, Position };

/** PTX's fundamental types, `.pred` included. `b` types carry bits only. */
export type DataType =
  | "pred"
  | "b8"
  | "b16"
  | "b32"
  | "b64"
  | "u8"
  | "u16"
  | "u32"
  | "u64"
  | "s8"
  | "s16"
  | "s32"
  | "s64"
  | "f16"
  | "f32"
  | "f64";

/** Bytes of a value in memory; a predicate has none, 0. */
export const DATA_TYPE_BYTES: Readonly<Record<DataType, number>> = {
  pred: 0,
  b8: 1,
  b16: 2,
  b32: 4,
  b64: 8,
  u8: 1,
  u16: 2,
  u32: 4,
  u64: 8,
  s8: 1,
  s16: 2,
  s32: 4,
  s64: 8,
  f16: 2,
  f32: 4,
  f64: 8,
};

/**
 * A virtual register; its id is its index in `Kernel.registers`. An operand is as wide as the
 * instruction's type, except for what PTX relaxes: load, store and convert (and the count of a
 * shift, which is always 32 bits). There a wider source register gives its low bits, and a wider
 * destination gets the value sign-extended (s types) or zero-extended (all others).
 */
export type RegisterId = number;
export type VirtualRegister = { readonly name: string; readonly type: DataType };

/** A basic block; its id is its index in `Kernel.blocks`. */
export type BlockId = number;

/** The read-only registers that PTX predefines. */
export type SpecialRegister =
  | `${"tid" | "ntid" | "ctaid" | "nctaid"}.${"x" | "y" | "z"}`
  | "laneid"
  | "warpid"
  | "nwarpid"
  | "smid"
  | "nsmid"
  | "gridid"
  | "clock"
  | "clock64"
  | "globaltimer"
  | `lanemask_${"eq" | "le" | "lt" | "ge" | "gt"}`
  | "dynamic_smem_size"
  | "total_smem_size";

export type StateSpace = "param" | "global" | "const" | "shared" | "local";

/**
 * A variable. `offset` is counted from the start of its segment: the parameter block, the block's
 * shared memory, the thread's local memory, or the module's data (`.global` and `.const` together).
 */
export type Symbol = {
  readonly name: string;
  readonly space: StateSpace;
  readonly offset: number;
  readonly bytes: number;
};

/**
 * A value read by an instruction. A constant's `bits` is the value's bit pattern at the width of
 * the type it is read as, without sign: -1 as s32 is 0xffffffffn, 1.0 as f32 is 0x3f800000n.
 */
export type Operand =
  | { readonly kind: "register"; readonly id: RegisterId }
  | { readonly kind: "constant"; readonly bits: bigint }
  /** A u32 (u64: clock64, globaltimer); read as a 16-bit type, as PTX 1.x does, its low half. */
  | { readonly kind: "special"; readonly name: SpecialRegister }
  /** The address of a variable, in the address space of the variable. */
  | { readonly kind: "address"; readonly symbol: Symbol; readonly offset: number };

/** Where memory is accessed: a base, and a signed byte offset. */
export type Address = {
  readonly base:
    | { readonly kind: "register"; readonly id: RegisterId }
    | { readonly kind: "symbol"; readonly symbol: Symbol }
    | { readonly kind: "absolute" };
  readonly offset: number;
};

/** A predicate register, perhaps read upside down. */
export type Guard = { readonly id: RegisterId; readonly negated: boolean };

/** How a floating-point result is rounded to its type. */
export type Rounding = "rn" | "rz" | "rm" | "rp";
/** A conversion may also round to an integer. `none`: the conversion is exact or PTX's default. */
export type ConvertRounding = Rounding | "rni" | "rzi" | "rmi" | "rpi" | "none";

/**
 * `exact` is correctly rounded; `approx` and `full` as PTX defines them, within a documented ulp.
 */
export type Precision = "exact" | "approx" | "full";

export type UnaryFunction =
  | "neg"
  | "abs"
  | "not"
  | "cnot"
  | "popc"
  | "clz"
  | "brev"
  | "sqrt"
  | "rcp"
  | "rsqrt"
  | "ex2"
  | "lg2"
  | "sin"
  | "cos"
  | "tanh";

export type BinaryFunction =
  | "add"
  | "sub"
  /** Floating-point product. */
  | "mul"
  /** Integer products: low half, high half, and the whole, twice as wide as `type`. */
  | "mulLo"
  | "mulHi"
  | "mulWide"
  | "div"
  | "rem"
  | "min"
  | "max"
  | "and"
  | "or"
  | "xor"
  /** Shift counts are u32 and clamp at the width, as PTX says and wasm does not. */
  | "shl"
  | "shr";

export type TernaryFunction = "madLo" | "madHi" | "madWide" | "fma";

/** `eq` to `ge` are ordered (false with a NaN); the `u` forms are true with a NaN. */
export type Comparison =
  | "eq"
  | "ne"
  | "lt"
  | "le"
  | "gt"
  | "ge"
  | "equ"
  | "neu"
  | "ltu"
  | "leu"
  | "gtu"
  | "geu"
  | "num"
  | "nan";

export type AtomicFunction =
  "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec";

/**
 * Floating-point modifiers: `.ftz` and `.sat` (to [0, 1]; a NaN becomes +0). `.ftz` looks at the
 * result rounded as if exponents had no end, so what only as a subnormal would round up to the
 * smallest normal number becomes zero.
 */
type FloatModifiers = { readonly flushSubnormals: boolean; readonly saturate: boolean };

/**
 * What an instruction does. `type` is the type its operands are read as, and its result has that
 * type too, except for mulWide and madWide (twice as wide, and so is madWide's `c`), and popc and
 * clz (u32).
 */
export type Operation =
  | {
      readonly op: "move";
      readonly type: DataType;
      readonly destination: RegisterId;
      readonly source: Operand;
    }
  /** mov.b32 d, {a, b}: `sources` from the low end up; `type` is the type of the whole. */
  | {
      readonly op: "pack";
      readonly type: DataType;
      readonly destination: RegisterId;
      readonly sources: readonly Operand[];
    }
  /** mov.b32 {a, b}, s: null stands for the sink `_`. */
  | {
      readonly op: "unpack";
      readonly type: DataType;
      readonly destinations: readonly (RegisterId | null)[];
      readonly source: Operand;
    }
  | ({
      readonly op: "unary";
      readonly function: UnaryFunction;
      readonly type: DataType;
      readonly rounding: Rounding;
      readonly precision: Precision;
      readonly destination: RegisterId;
      readonly source: Operand;
    } & FloatModifiers)
  /** `saturate` on an integer add or sub clamps to the type's range (s32 only). */
  | ({
      readonly op: "binary";
      readonly function: BinaryFunction;
      readonly type: DataType;
      readonly rounding: Rounding;
      readonly precision: Precision;
      readonly destination: RegisterId;
      readonly left: Operand;
      readonly right: Operand;
    } & FloatModifiers)
  | ({
      readonly op: "ternary";
      readonly function: TernaryFunction;
      readonly type: DataType;
      readonly rounding: Rounding;
      readonly destination: RegisterId;
      readonly a: Operand;
      readonly b: Operand;
      readonly c: Operand;
    } & FloatModifiers)
  /** setp. `complement` takes the negated comparison, before `combine` is applied to each. */
  | {
      readonly op: "compare";
      readonly comparison: Comparison;
      readonly type: DataType;
      readonly flushSubnormals: boolean;
      readonly destination: RegisterId | null;
      readonly complement: RegisterId | null;
      readonly left: Operand;
      readonly right: Operand;
      readonly combine: {
        readonly function: "and" | "or" | "xor";
        readonly predicate: Guard;
      } | null;
    }
  | {
      readonly op: "select";
      readonly type: DataType;
      readonly destination: RegisterId;
      readonly onTrue: Operand;
      readonly onFalse: Operand;
      readonly predicate: Guard;
    }
  | ({
      readonly op: "convert";
      readonly to: DataType;
      readonly from: DataType;
      readonly rounding: ConvertRounding;
      readonly destination: RegisterId;
      readonly source: Operand;
    } & FloatModifiers)
  /** cvta; `type` is u32 or u64. */
  | {
      readonly op: "convertAddress";
      readonly direction: "toGeneric" | "fromGeneric";
      readonly space: StateSpace;
      readonly type: DataType;
      readonly destination: RegisterId;
      readonly source: Operand;
    }
  /** Vector forms have 2 or 4 destinations, `_` as null; the address is aligned to the whole. */
  | {
      readonly op: "load";
      readonly space: StateSpace | "generic";
      readonly type: DataType;
      readonly destinations: readonly (RegisterId | null)[];
      readonly address: Address;
      /** `.volatile` and the ordered forms: must not be moved, merged or hoisted. */
      readonly isVolatile: boolean;
    }
  | {
      readonly op: "store";
      readonly space: StateSpace | "generic";
      readonly type: DataType;
      readonly sources: readonly Operand[];
      readonly address: Address;
      readonly isVolatile: boolean;
    }
  /**
   * atom (destination: the old value) and red (destination null). `comparand` is for cas only. An
   * f32 add flushes subnormals in global memory and does not in shared memory.
   */
  | {
      readonly op: "atomic";
      readonly space: "global" | "shared" | "generic";
      readonly function: AtomicFunction;
      readonly type: DataType;
      readonly destination: RegisterId | null;
      readonly address: Address;
      readonly comparand: Operand | null;
      readonly source: Operand;
    }
  /** membar and fence, of any scope and order: all earlier accesses before all later ones. */
  | { readonly op: "fence" };

/** An operation, where it stands, and the predicate under which it happens. */
export type Instruction = Operation & {
  readonly guard: Guard | null;
  readonly position: Position;
};

/** How a basic block ends. A guarded branch, exit or barrier has become a `branch` around it. */
export type Terminator = { readonly position: Position } & (
  | { readonly kind: "jump"; readonly target: BlockId }
  | {
      readonly kind: "branch";
      readonly predicate: Guard;
      readonly onTrue: BlockId;
      readonly onFalse: BlockId;
    }
  /** bar.sync 0 over the whole block: goes on in `resume` once every live thread is here. */
  | { readonly kind: "barrier"; readonly resume: BlockId }
  | { readonly kind: "exit" }
  /** trap: CUDA's 715 (illegal instruction) stands for it, as on hardware. */
  | { readonly kind: "trap" }
);

export type BasicBlock = {
  readonly instructions: readonly Instruction[];
  readonly terminator: Terminator;
};

export type Parameter = {
  readonly name: string;
  /** As written, e.g. `u64`; `b8` with `bytes` > 1 is a struct or an array. */
  readonly type: DataType;
  readonly offset: number;
  readonly bytes: number;
};

/** One `.entry`. Block 0 is where threads begin. Every block can be reached from it. */
export type Kernel = {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly parameterBytes: number;
  readonly registers: readonly VirtualRegister[];
  readonly blocks: readonly BasicBlock[];
  /** Static shared memory; `extern .shared` arrays begin at this offset, a multiple of 16. */
  readonly sharedBytes: number;
  /** Local memory of one thread, a multiple of 16. */
  readonly localBytes: number;
  /** From .maxntid and .reqntid; null where the kernel says nothing. */
  readonly threadsMax: number | null;
};

/** The module's `.global` and `.const` variables, as one segment that is copied to the device. */
export type ModuleData = {
  readonly bytes: Uint8Array;
  readonly symbols: readonly Symbol[];
  /** 64-bit words that hold the address of another variable: base of this segment + `addend`. */
  readonly relocations: readonly { readonly offset: number; readonly addend: number }[];
};

/**
 * One `.entry` of a module. Lowered when first asked for, and once: an instruction that cannot be
 * run makes its own kernel unusable and no other.
 */
export type KernelEntry = {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly parameterBytes: number;
  readonly lower: () => Result<Kernel, Diagnostic>;
};

/** What one PTX file is, ready for either engine. */
export type PtxModule = {
  /** What messages call it. */
  readonly fileName: string;
  /** `.version` as [major, minor] and `.target`'s first word, e.g. `sm_30`. */
  readonly version: readonly [major: number, minor: number];
  readonly target: string;
  readonly data: ModuleData;
  /** In the order of the text. */
  readonly entries: readonly KernelEntry[];
};
