// IR as text, for people: what tests compare and what one reads while looking for a bug.
import type {
  Address,
  BasicBlock,
  Guard,
  Instruction,
  Kernel,
  Operand,
  RegisterId,
  Terminator,
} from "./types.ts";

type Registers = Kernel["registers"];

const register = (registers: Registers, id: RegisterId | null): string =>
  id === null ? "_" : (registers[id]?.name ?? `<register ${String(id)}>`);

const guard = (registers: Registers, { id, negated }: Guard): string =>
  `${negated ? "!" : ""}${register(registers, id)}`;

const signed = (offset: number): string =>
  offset === 0 ? "" : offset > 0 ? `+${String(offset)}` : String(offset);

function operand(registers: Registers, value: Operand): string {
  switch (value.kind) {
    case "register":
      return register(registers, value.id);
    case "constant":
      return `0x${value.bits.toString(16)}`;
    case "special":
      return `%${value.name}`;
    case "address":
      return `&${value.symbol.space}.${value.symbol.name}${signed(value.offset)}`;
  }
}

function address(registers: Registers, { base, offset }: Address): string {
  switch (base.kind) {
    case "register":
      return `[${register(registers, base.id)}${signed(offset)}]`;
    case "symbol":
      return `[${base.symbol.name}${signed(offset)}]`;
    case "absolute":
      return `[${String(offset)}]`;
  }
}

const list = (texts: readonly string[]): string =>
  texts.length === 1 ? (texts[0] ?? "") : `{${texts.join(", ")}}`;

/** The modifiers that differ from what is plain: nearest, exact, neither flushed nor saturated. */
function modifiers(instruction: Instruction): string {
  const words: string[] = [];
  if ("precision" in instruction && instruction.precision !== "exact") {
    words.push(instruction.precision);
  }
  if ("rounding" in instruction && !["rn", "none"].includes(instruction.rounding)) {
    words.push(instruction.rounding);
  }
  if ("flushSubnormals" in instruction && instruction.flushSubnormals) words.push("ftz");
  if ("saturate" in instruction && instruction.saturate) words.push("sat");
  if ("isVolatile" in instruction && instruction.isVolatile) words.push("volatile");
  return words.map((word) => `.${word}`).join("");
}

function compareText(
  registers: Registers,
  instruction: Extract<Instruction, { op: "compare" }>,
): string {
  const { destination, complement, comparison, type, combine } = instruction;
  const second = complement === null ? "" : `|${register(registers, complement)}`;
  const name = `${comparison}${modifiers(instruction)}.${type}`;
  const combined =
    combine === null ? "" : ` ${combine.function} ${guard(registers, combine.predicate)}`;
  const left = operand(registers, instruction.left);
  const right = operand(registers, instruction.right);
  return `${register(registers, destination)}${second} = ${name} ${left}, ${right}${combined}`;
}

/** The part of an instruction right of its guard. */
function operationText(registers: Registers, instruction: Instruction): string {
  const read = (value: Operand): string => operand(registers, value);
  const target = (id: RegisterId | null): string => register(registers, id);
  const marks = modifiers(instruction);
  switch (instruction.op) {
    case "move":
      return `${target(instruction.destination)} = ${instruction.type} ${read(instruction.source)}`;
    case "pack":
      return `${target(instruction.destination)} = pack.${instruction.type} ${list(instruction.sources.map(read))}`;
    case "unpack":
      return `${list(instruction.destinations.map(target))} = unpack.${instruction.type} ${read(instruction.source)}`;
    case "unary":
      return `${target(instruction.destination)} = ${instruction.function}${marks}.${instruction.type} ${read(instruction.source)}`;
    case "binary":
      return `${target(instruction.destination)} = ${instruction.function}${marks}.${instruction.type} ${read(instruction.left)}, ${read(instruction.right)}`;
    case "ternary":
      return `${target(instruction.destination)} = ${instruction.function}${marks}.${instruction.type} ${read(instruction.a)}, ${read(instruction.b)}, ${read(instruction.c)}`;
    case "compare":
      return compareText(registers, instruction);
    case "select":
      return `${target(instruction.destination)} = select.${instruction.type} ${guard(registers, instruction.predicate)} ? ${read(instruction.onTrue)} : ${read(instruction.onFalse)}`;
    case "convert":
      return `${target(instruction.destination)} = convert${marks}.${instruction.to}.${instruction.from} ${read(instruction.source)}`;
    case "convertAddress":
      return `${target(instruction.destination)} = ${instruction.direction}.${instruction.space}.${instruction.type} ${read(instruction.source)}`;
    case "load":
      return `${list(instruction.destinations.map(target))} = load.${instruction.space}${marks}.${instruction.type} ${address(registers, instruction.address)}`;
    case "store":
      return `store.${instruction.space}${marks}.${instruction.type} ${address(registers, instruction.address)}, ${list(instruction.sources.map(read))}`;
    case "atomic": {
      const { comparand } = instruction;
      const expected = comparand === null ? "" : `${read(comparand)}, `;
      return `${target(instruction.destination)} = atomic.${instruction.function}.${instruction.space}.${instruction.type} ${address(registers, instruction.address)}, ${expected}${read(instruction.source)}`;
    }
    case "fence":
      return "fence";
  }
}

/** One instruction on one line, e.g. `if !%p1: %r3 = add.u32 %r1, 0x1`. */
export function printInstruction(registers: Registers, instruction: Instruction): string {
  const text = operationText(registers, instruction);
  return instruction.guard === null ? text : `if ${guard(registers, instruction.guard)}: ${text}`;
}

function terminatorText(registers: Registers, terminator: Terminator): string {
  switch (terminator.kind) {
    case "jump":
      return `jump b${String(terminator.target)}`;
    case "branch":
      return `branch ${guard(registers, terminator.predicate)} ? b${String(terminator.onTrue)} : b${String(terminator.onFalse)}`;
    case "barrier":
      return `barrier, then b${String(terminator.resume)}`;
    case "exit":
    case "trap":
      return terminator.kind;
  }
}

function blockText(registers: Registers, block: BasicBlock, id: number): string {
  const lines = block.instructions.map((instruction) => printInstruction(registers, instruction));
  lines.push(terminatorText(registers, block.terminator));
  return [`b${String(id)}:`, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** A kernel as text, one block after the other. */
export function printKernel(kernel: Kernel): string {
  const { name, parameterBytes, sharedBytes, localBytes, registers } = kernel;
  const sizes = `parameters ${String(parameterBytes)}, shared ${String(sharedBytes)}, local ${String(localBytes)}`;
  const blocks = kernel.blocks.map((block, id) => blockText(registers, block, id));
  return [`kernel ${name} (${sizes})`, ...blocks].join("\n") + "\n";
}
