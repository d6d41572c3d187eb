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

type Computation = Extract<Instruction, { op: "unary" | "binary" | "ternary" | "convertAddress" }>;

/** What is computed from what, right of the `=`. */
function computationText(registers: Registers, instruction: Computation): string {
  const read = (value: Operand): string => operand(registers, value);
  const marks = modifiers(instruction);
  const name = (word: string): string => `${word}${marks}.${instruction.type}`;
  switch (instruction.op) {
    case "unary":
      return `${name(instruction.function)} ${read(instruction.source)}`;
    case "binary":
      return `${name(instruction.function)} ${read(instruction.left)}, ${read(instruction.right)}`;
    case "ternary": {
      const { a, b, c } = instruction;
      return `${name(instruction.function)} ${[a, b, c].map(read).join(", ")}`;
    }
    case "convertAddress":
      return `${name(`${instruction.direction}.${instruction.space}`)} ${read(instruction.source)}`;
  }
}

type Access = Extract<Instruction, { op: "load" | "store" | "atomic" }>;

function accessText(registers: Registers, instruction: Access): string {
  const read = (value: Operand): string => operand(registers, value);
  const place = address(registers, instruction.address);
  const kind = `${instruction.space}${modifiers(instruction)}.${instruction.type}`;
  switch (instruction.op) {
    case "load": {
      const targets = instruction.destinations.map((id) => register(registers, id));
      return `${list(targets)} = load.${kind} ${place}`;
    }
    case "store":
      return `store.${kind} ${place}, ${list(instruction.sources.map(read))}`;
    case "atomic": {
      const { comparand, source, destination } = instruction;
      const values = comparand === null ? [source] : [comparand, source];
      const name = `atomic.${instruction.function}.${kind}`;
      const sources = values.map(read).join(", ");
      return `${register(registers, destination)} = ${name} ${place}, ${sources}`;
    }
  }
}

/** The part of an instruction right of its guard. */
function operationText(registers: Registers, instruction: Instruction): string {
  const read = (value: Operand): string => operand(registers, value);
  const target = (id: RegisterId): string => register(registers, id);
  switch (instruction.op) {
    case "move":
      return `${target(instruction.destination)} = ${instruction.type} ${read(instruction.source)}`;
    case "pack": {
      const { type, sources } = instruction;
      return `${target(instruction.destination)} = pack.${type} ${list(sources.map(read))}`;
    }
    case "unpack": {
      const targets = instruction.destinations.map((id) => register(registers, id));
      return `${list(targets)} = unpack.${instruction.type} ${read(instruction.source)}`;
    }
    case "compare":
      return compareText(registers, instruction);
    case "select": {
      const { type, onTrue, onFalse } = instruction;
      const values = `${read(onTrue)} : ${read(onFalse)}`;
      const choice = `${guard(registers, instruction.predicate)} ? ${values}`;
      return `${target(instruction.destination)} = select.${type} ${choice}`;
    }
    case "convert": {
      const name = `convert${modifiers(instruction)}.${instruction.to}.${instruction.from}`;
      return `${target(instruction.destination)} = ${name} ${read(instruction.source)}`;
    }
    case "load":
    case "store":
    case "atomic":
      return accessText(registers, instruction);
    case "fence":
      return "fence";
    case "unary":
    case "binary":
    case "ternary":
    case "convertAddress":
      return `${target(instruction.destination)} = ${computationText(registers, instruction)}`;
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
    case "branch": {
      const { predicate, onTrue, onFalse } = terminator;
      const targets = `b${String(onTrue)} : b${String(onFalse)}`;
      return `branch ${guard(registers, predicate)} ? ${targets}`;
    }
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
  const segments = { parameters: parameterBytes, shared: sharedBytes, local: localBytes };
  const sizes = Object.entries(segments).map(([segment, bytes]) => `${segment} ${String(bytes)}`);
  const blocks = kernel.blocks.map((block, id) => blockText(registers, block, id));
  return [`kernel ${name} (${sizes.join(", ")})`, ...blocks].join("\n") + "\n";
}
