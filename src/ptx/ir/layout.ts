import type { VariableNode } from "../syntax/ast.ts";
import { Refusal } from "../syntax/diagnostic.ts";
import { PARAMETER_BYTES_MAX, VARIABLE_BYTES_MAX } from "../syntax/limits.ts";
import { dataTypeOf } from "./scope.ts";
import type { Parameter } from "./types.ts";
import { DATA_TYPE_BYTES } from "./types.ts";

/** Rounds up to a multiple of `alignment`. */
export const alignUp = (value: number, alignment: number): number =>
  Math.ceil(value / alignment) * alignment;

/** Bytes of the types that variables may have and registers of ours may not. */
const OTHER_TYPE_BYTES: Readonly<Record<string, number>> = {
  bf16: 2,
  f16x2: 4,
  bf16x2: 4,
  tf32: 4,
  b128: 16,
  u128: 16,
  s128: 16,
  texref: 8,
  samplerref: 8,
  surfref: 8,
};

/** What a variable takes in memory. `elementBytes` counts one scalar. */
export type VariableLayout = {
  readonly elementBytes: number;
  readonly bytes: number;
  readonly alignment: number;
};

/** Size and alignment of a variable; an array without a size has 0 bytes. */
export function layoutVariable(node: VariableNode): VariableLayout {
  const type = dataTypeOf(node.type);
  const elementBytes = type === null ? OTHER_TYPE_BYTES[node.type] : DATA_TYPE_BYTES[type];
  if (elementBytes === undefined || elementBytes === 0) {
    throw new Refusal("invalid_ptx", node.position, `a variable cannot have type .${node.type}`);
  }
  const vectorBytes = elementBytes * node.vectorLength;
  const alignment = node.alignment ?? vectorBytes;
  if (alignment === 0 || (alignment & (alignment - 1)) !== 0) {
    const message = `'.align ${alignment}' is not a power of two`;
    throw new Refusal("invalid_ptx", node.position, message);
  }
  let bytes = vectorBytes;
  for (const dimension of node.dimensions) bytes *= dimension ?? unsizedLength(node);
  if (bytes > VARIABLE_BYTES_MAX) {
    const message = `'${node.name}' is larger than ${VARIABLE_BYTES_MAX} bytes`;
    throw new Refusal("limit_exceeded", node.position, message);
  }
  return { elementBytes, bytes, alignment };
}

/** `a[]` has as many elements as its initialiser says, and none without one. */
function unsizedLength(node: VariableNode): number {
  return node.initialiser?.kind === "list" ? node.initialiser.elements.length : 0;
}

/** The parameters of a kernel, each at its place in the parameter block. */
export function layoutParameters(nodes: readonly VariableNode[]): {
  readonly parameters: readonly Parameter[];
  readonly parameterBytes: number;
} {
  const parameters: Parameter[] = [];
  let end = 0;
  for (const node of nodes) {
    const { bytes, alignment } = layoutVariable(node);
    const offset = alignUp(end, alignment);
    // A type that the IR lacks is given as the bytes that it is.
    const type = dataTypeOf(node.type) ?? "b8";
    parameters.push({ name: node.name, type, offset, bytes });
    end = offset + bytes;
    if (end > PARAMETER_BYTES_MAX) {
      const message = `the parameters are larger than ${PARAMETER_BYTES_MAX} bytes`;
      throw new Refusal("limit_exceeded", node.position, message);
    }
  }
  return { parameters, parameterBytes: end };
}
