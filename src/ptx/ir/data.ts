// The module's `.global` and `.const` variables, laid out one after the other and filled.
import type { InitialiserNode, VariableNode } from "../syntax/ast.ts";
import { Refusal } from "../syntax/diagnostic.ts";
import { VARIABLE_BYTES_MAX } from "../syntax/limits.ts";
import { encodeLiteral } from "./encode.ts";
import { alignUp, layoutVariable } from "./layout.ts";
import { dataTypeOf } from "./scope.ts";
import type { DataType, ModuleData, Symbol } from "./types.ts";

type Placed = { readonly node: VariableNode; readonly symbol: Symbol };

type Target = {
  readonly view: DataView;
  readonly symbols: ReadonlyMap<string, Symbol>;
  readonly relocations: { readonly offset: number; readonly addend: number }[];
  readonly type: DataType;
  readonly elementBytes: number;
};

/** Writes the low `bytes` bytes of a bit pattern. */
function writeBits(view: DataView, offset: number, bytes: number, bits: bigint): void {
  for (let index = 0; index < bytes; index += 1) {
    view.setUint8(offset + index, Number((bits >> BigInt(8 * index)) & 0xffn));
  }
}

type AddressNode = Extract<InitialiserNode, { kind: "address" }>;

function fillAddress(target: Target, node: AddressNode, at: number): void {
  const symbol = target.symbols.get(node.name);
  if (symbol === undefined || node.mask !== null || target.elementBytes !== 8) {
    const message =
      `the address of '${node.name}' cannot be an initial value here; ` +
      "only a whole 64-bit address of a .global or .const variable can";
    throw new Refusal("unsupported_feature", node.position, message);
  }
  target.relocations.push({ offset: at, addend: symbol.offset + Number(node.offset) });
}

/** Fills one scalar. */
function fillScalar(target: Target, node: InitialiserNode, at: number): void {
  if (node.kind === "address") {
    fillAddress(target, node, at);
    return;
  }
  const bits = node.kind === "list" ? null : encodeLiteral(node, target.type);
  if (bits === null) {
    const message = `this is no initial value of type .${target.type}`;
    throw new Refusal("invalid_ptx", node.position, message);
  }
  writeBits(target.view, at, target.elementBytes, bits);
}

/** Fills an array of `shape`; what the initialiser leaves out stays zero. */
function fill(
  target: Target,
  node: InitialiserNode,
  place: { readonly at: number; readonly shape: readonly number[] },
): void {
  const [length, ...inner] = place.shape;
  if (length === undefined) {
    fillScalar(target, node, place.at);
    return;
  }
  if (node.kind !== "list" || node.elements.length > length) {
    const message = `expected at most ${length} values in braces`;
    throw new Refusal("invalid_ptx", node.position, message);
  }
  const stride = inner.reduce((product, size) => product * size, target.elementBytes);
  node.elements.forEach((element, index) => {
    fill(target, element, { at: place.at + index * stride, shape: inner });
  });
}

function initialise(placed: Placed, target: Omit<Target, "type" | "elementBytes">): void {
  const { node, symbol } = placed;
  if (node.initialiser === null) return;
  const type = dataTypeOf(node.type);
  if (type === null) {
    const message = `an initial value of type .${node.type} is not supported`;
    throw new Refusal("unsupported_feature", node.initialiser.position, message);
  }
  const { elementBytes } = layoutVariable(node);
  const shape = node.dimensions.map((dimension) => dimension ?? symbol.bytes / elementBytes);
  if (node.vectorLength > 1) shape.push(node.vectorLength);
  fill({ ...target, type, elementBytes }, node.initialiser, { at: symbol.offset, shape });
}

/** Lays out and fills the data segment of a module. */
export function lowerData(nodes: readonly VariableNode[]): ModuleData {
  const placed: Placed[] = [];
  let end = 0;
  for (const node of nodes) {
    const { bytes, alignment } = layoutVariable(node);
    const offset = alignUp(end, alignment);
    const space = node.space === "const" ? "const" : "global";
    placed.push({ node, symbol: { name: node.name, space, offset, bytes } });
    end = offset + bytes;
    if (end > VARIABLE_BYTES_MAX) {
      const message = `the module's variables are larger than ${VARIABLE_BYTES_MAX} bytes`;
      throw new Refusal("limit_exceeded", node.position, message);
    }
  }
  const bytes = new Uint8Array(end);
  const relocations: Target["relocations"] = [];
  const symbols = new Map(placed.map(({ symbol }) => [symbol.name, symbol]));
  const target = { view: new DataView(bytes.buffer), symbols, relocations };
  for (const one of placed) initialise(one, target);
  return { bytes, symbols: [...symbols.values()], relocations };
}
