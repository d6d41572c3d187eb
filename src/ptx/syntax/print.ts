// The tree as PTX text. Printing what was parsed and parsing it again gives the same text again.
import type {
  FunctionNode,
  InitialiserNode,
  InstructionNode,
  Literal,
  ModuleNode,
  OperandNode,
  StatementNode,
  VariableNode,
} from "./ast.ts";

function literal(value: Literal): string {
  if (value.kind === "integer") return BigInt.asIntN(64, value.bits).toString();
  const digits = value.bits.toString(16).padStart(value.width / 4, "0");
  return `${value.width === 32 ? "0f" : "0d"}${digits}`;
}

/** `+4` or `+-4`, which is how PTX writes a negative offset. */
const signed = (offset: bigint): string => (offset === 0n ? "" : `+${offset.toString()}`);

const commas = (nodes: readonly OperandNode[]): string => nodes.map(operand).join(", ");

function operand(node: OperandNode): string {
  switch (node.kind) {
    case "integer":
    case "float":
      return literal(node);
    case "name": {
      const component = node.component === null ? "" : `.${node.component}`;
      return `${node.name}${component}${signed(node.offset)}`;
    }
    case "negated":
      return `!${node.name}`;
    case "sink":
      return "_";
    case "pair":
      return `${operand(node.first)}|${operand(node.second)}`;
    case "vector":
      return `{${commas(node.elements)}}`;
    case "memory":
      return `[${commas(node.parts)}]`;
    case "group":
      return `(${commas(node.elements)})`;
  }
}

/** One instruction, with its semicolon. */
export function printInstructionNode(node: InstructionNode): string {
  const { guard, opcode, modifiers, operands } = node;
  const prefix = guard === null ? "" : `@${guard.negated ? "!" : ""}${guard.name} `;
  const name = [opcode, ...modifiers].join(".");
  return `${prefix}${name}${operands.length === 0 ? "" : ` ${commas(operands)}`};`;
}

function initialiser(node: InitialiserNode): string {
  if (node.kind === "list") return `{${node.elements.map(initialiser).join(", ")}}`;
  if (node.kind !== "address") return literal(node);
  const address = `${node.isGeneric ? `generic(${node.name})` : node.name}${signed(node.offset)}`;
  if (node.mask === null) return address;
  return `${literal({ kind: "integer", bits: node.mask })}(${address})`;
}

function pointer(node: NonNullable<VariableNode["pointer"]>): string {
  const space = node.space === null ? "" : ` .${node.space}`;
  const alignment = node.alignment === null ? "" : ` .align ${String(node.alignment)}`;
  return ` .ptr${space}${alignment}`;
}

function variable(node: VariableNode): string {
  const linkage = node.linkage === "none" ? "" : `.${node.linkage} `;
  const alignment = node.alignment === null ? "" : ` .align ${String(node.alignment)}`;
  const vector = node.vectorLength === 1 ? "" : ` .v${String(node.vectorLength)}`;
  const pointed = node.pointer === null ? "" : pointer(node.pointer);
  const count = node.registerCount === null ? "" : `<${String(node.registerCount)}>`;
  const dimensions = node.dimensions.map((size) => `[${size === null ? "" : String(size)}]`);
  const value = node.initialiser === null ? "" : ` = ${initialiser(node.initialiser)}`;
  const head = `${linkage}.${node.space}${alignment}${vector} .${node.type}${pointed}`;
  return `${head} ${node.name}${count}${dimensions.join("")}${value}`;
}

/** Directives that PTX ends with a semicolon; the others end with their line. */
const isTerminated = (name: string): boolean => name === ".pragma" || name === ".alias";

function statement(node: StatementNode, indent: string): string {
  switch (node.kind) {
    case "label":
      return `${node.name}:`;
    case "table":
      return `${node.name}: ${node.text};`;
    case "instruction":
      return `${indent}${printInstructionNode(node)}`;
    case "variable":
      return `${indent}${variable(node)};`;
    case "directive":
      return `${indent}${node.text}${isTerminated(node.name) ? ";" : ""}`;
    case "block":
      return [`${indent}{`, ...statements(node.statements, `${indent}\t`), `${indent}}`].join("\n");
  }
}

const statements = (nodes: readonly StatementNode[], indent: string): string[] =>
  nodes.map((node) => statement(node, indent));

function functionText(node: FunctionNode): string {
  const group = (nodes: readonly VariableNode[]): string => `(${nodes.map(variable).join(", ")})`;
  const linkage = node.linkage === "none" ? "" : `.${node.linkage} `;
  const returns = node.returns.length === 0 ? "" : ` ${group(node.returns)}`;
  const directives = node.directives.map(
    ({ name, values }) => `\n.${name}${values.length === 0 ? "" : ` ${values.join(", ")}`}`,
  );
  const head = `${linkage}${node.isEntry ? ".entry" : ".func"}${returns} ${node.name}`;
  const start = `${head}${group(node.parameters)}${directives.join("")}`;
  if (node.body === null) return `${start};`;
  return [start, "{", ...statements(node.body.statements, "\t"), "}"].join("\n");
}

/** A whole module as PTX text. */
export function printModule(module: ModuleNode): string {
  const [major, minor] = module.version;
  const head = [
    `.version ${String(major)}.${String(minor)}`,
    `.target ${module.targets.join(", ")}`,
    `.address_size ${String(module.addressBits)}`,
  ];
  const items = module.items.map((item) => {
    if (item.kind === "function") return functionText(item);
    if (item.kind === "variable") return `${variable(item)};`;
    return `${item.text}${isTerminated(item.name) ? ";" : ""}`;
  });
  return [...head, ...items].join("\n") + "\n";
}
