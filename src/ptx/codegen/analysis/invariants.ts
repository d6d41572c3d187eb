/**
 * Block invariants: registers that have one value for all threads of a block, and can be computed
 * before its threads run. Such a register has one definition, without a guard, that is a pure
 * function of constants, parameters, the launch's own registers and other invariants. It is never
 * kept across barriers: each region that needs it computes it again.
 */
import {
  DATA_TYPE_BYTES,
  type Instruction,
  type Kernel,
  type Operand,
  type RegisterId,
} from "../../ir/types.ts";
import type { Definitions } from "./definitions.ts";
import { operandsOf, readsOf, writesOf } from "./effects.ts";

export type Invariants = {
  readonly registers: ReadonlySet<RegisterId>;
  /** The defining instructions, each after those whose result it reads. */
  readonly instructions: readonly Instruction[];
};

const BLOCK_SPECIAL = /^(ntid|ctaid|nctaid)\.|^(nwarpid|smid|nsmid|gridid)$|_smem_size$/;

function isInvariantOperand(operand: Operand): boolean {
  switch (operand.kind) {
    case "constant":
    case "register":
      return true; // Registers are tested by id.
    case "special":
      return BLOCK_SPECIAL.test(operand.name);
    case "address":
      return operand.symbol.space !== "local";
  }
}

/** A parameter at a constant address cannot fault and never changes. */
function isParameterRead(kernel: Kernel, load: Extract<Instruction, { op: "load" }>): boolean {
  const { base, offset } = load.address;
  if (load.space !== "param" || base.kind !== "symbol") return false;
  const start = base.symbol.offset + offset;
  const bytes = DATA_TYPE_BYTES[load.type] * load.destinations.length;
  return start >= 0 && start % bytes === 0 && start + bytes <= kernel.parameterBytes;
}

/** Whether an instruction gives the same result for all threads, if its registers do. */
function isPure(kernel: Kernel, instruction: Instruction): boolean {
  if (instruction.guard !== null) return false;
  switch (instruction.op) {
    case "load":
      return isParameterRead(kernel, instruction);
    case "store":
    case "atomic":
    case "fence":
      return false;
    case "move":
    case "pack":
    case "unpack":
    case "unary":
    case "binary":
    case "ternary":
    case "compare":
    case "select":
    case "convert":
    case "convertAddress":
      return operandsOf(instruction).every(isInvariantOperand);
  }
}

/** A read of a register before its only write would see zero: such a register is no invariant. */
export function invariants(
  kernel: Kernel,
  found: Definitions,
  liveAtEntry: (id: RegisterId) => boolean,
): Invariants {
  const registers = new Set<RegisterId>();
  const instructions: Instruction[] = [];
  const candidates = kernel.blocks.flatMap((block) =>
    block.instructions.filter(
      (instruction) =>
        isPure(kernel, instruction) &&
        writesOf(instruction).length > 0 &&
        writesOf(instruction).every((id) => found[id]?.length === 1 && !liveAtEntry(id)),
    ),
  );
  for (let pending = candidates, before = -1; pending.length !== before;) {
    before = pending.length;
    pending = pending.filter((instruction) => {
      if (!readsOf(instruction).every((id) => registers.has(id))) return true;
      instructions.push(instruction);
      for (const id of writesOf(instruction)) registers.add(id);
      return false;
    });
  }
  return { registers, instructions };
}
