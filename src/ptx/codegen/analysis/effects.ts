/** What an instruction or a terminator reads and writes. */
import type {
  Address,
  Guard,
  Instruction,
  Operand,
  Operation,
  RegisterId,
  Terminator,
} from "../../ir/types.ts";

/** The operands of an operation, an address's base aside. */
export function operandsOf(operation: Operation): readonly Operand[] {
  switch (operation.op) {
    case "move":
    case "unpack":
    case "unary":
    case "convert":
    case "convertAddress":
      return [operation.source];
    case "pack":
    case "store":
      return operation.sources;
    case "binary":
    case "compare":
      return [operation.left, operation.right];
    case "ternary":
      return [operation.a, operation.b, operation.c];
    case "select":
      return [operation.onTrue, operation.onFalse];
    case "atomic":
      return operation.comparand === null
        ? [operation.source]
        : [operation.comparand, operation.source];
    case "load":
    case "fence":
      return [];
  }
}

/** The address that an operation accesses, if it accesses memory. */
export function addressOf(operation: Operation): Address | null {
  return operation.op === "load" || operation.op === "store" || operation.op === "atomic"
    ? operation.address
    : null;
}

/** The predicates that an operation reads as such, its instruction's guard aside. */
function predicatesOf(operation: Operation): readonly Guard[] {
  if (operation.op === "select") return [operation.predicate];
  if (operation.op === "compare" && operation.combine !== null) {
    return [operation.combine.predicate];
  }
  return [];
}

/** Registers that an instruction reads, its guard included; some may be named twice. */
export function readsOf(instruction: Instruction): readonly RegisterId[] {
  const reads: RegisterId[] = [];
  for (const operand of operandsOf(instruction)) {
    if (operand.kind === "register") reads.push(operand.id);
  }
  const address = addressOf(instruction);
  if (address?.base.kind === "register") reads.push(address.base.id);
  for (const predicate of predicatesOf(instruction)) reads.push(predicate.id);
  if (instruction.guard !== null) reads.push(instruction.guard.id);
  return reads;
}

/** Registers that an operation writes. */
export function writesOf(operation: Operation): readonly RegisterId[] {
  switch (operation.op) {
    case "load":
    case "unpack":
      return operation.destinations.filter((id) => id !== null);
    case "compare":
      return [operation.destination, operation.complement].filter((id) => id !== null);
    case "atomic":
      return operation.destination === null ? [] : [operation.destination];
    case "store":
    case "fence":
      return [];
    case "move":
    case "pack":
    case "unary":
    case "binary":
    case "ternary":
    case "select":
    case "convert":
    case "convertAddress":
      return [operation.destination];
  }
}

/** Registers that a terminator reads. */
export function terminatorReads(terminator: Terminator): readonly RegisterId[] {
  return terminator.kind === "branch" ? [terminator.predicate.id] : [];
}
