// ld, ldu, st, atom, red, membar, fence and prefetch.
import { form, refused, type Builder, type Form } from "../form.ts";
import type { InstructionReader } from "../reader.ts";
import type { OperandNode } from "../../syntax/ast.ts";
import type { AtomicFunction, DataType, StateSpace } from "../types.ts";

type AccessSpace = StateSpace | "generic";

const SPACES: Readonly<Record<string, StateSpace>> = {
  param: "param",
  global: "global",
  const: "const",
  shared: "shared",
  local: "local",
  "param::entry": "param",
  "shared::cta": "shared",
};

const spaceOf = (reader: InstructionReader): AccessSpace =>
  SPACES[reader.choice("space") ?? ""] ?? "generic";

const VOLATILE_ORDERS = new Set(["volatile", "relaxed", "acquire", "release", "mmio"]);

const isVolatile = (reader: InstructionReader): boolean =>
  VOLATILE_ORDERS.has(reader.choice("order") ?? "");

/** The elements of a vector operand; a single operand is a vector of one. */
function elementsOf(reader: InstructionReader, index: number): readonly OperandNode[] {
  const node = reader.operand(index);
  const count = Number((reader.choice("vector") ?? "v1").slice(1));
  const elements = node.kind === "vector" ? node.elements : [node];
  if (elements.length === count) return elements;
  const message = `found ${elements.length} registers, but the instruction moves ${count}`;
  throw reader.invalid(message, node.position);
}

/** A scope is written exactly where an order needs one. */
function checkScope(reader: InstructionReader): void {
  const order = reader.choice("order");
  const needsScope = order !== null && order !== "weak" && order !== "volatile";
  if (needsScope === reader.has("scope")) return;
  throw reader.invalid(needsScope ? `.${order} needs a scope` : "a scope needs an order");
}

const load: Builder = (reader) => {
  const type = reader.type();
  reader.expectOperands(2);
  checkScope(reader);
  const space = spaceOf(reader);
  const address = reader.address(1, space);
  const destinations = elementsOf(reader, 0).map((node) =>
    reader.destinationOrSink(node, type, "relaxed"),
  );
  const order = isVolatile(reader);
  reader.emit({ op: "load", space, type, destinations, address, isVolatile: order });
  if (reader.choice("order") === "acquire") reader.emit({ op: "fence" });
};

const store: Builder = (reader) => {
  const type = reader.type();
  reader.expectOperands(2);
  checkScope(reader);
  const space = spaceOf(reader);
  const address = reader.address(0, space);
  const sources = elementsOf(reader, 1).map((node) => reader.sourceOf(node, type, "relaxed"));
  if (reader.choice("order") === "release") reader.emit({ op: "fence" });
  reader.emit({ op: "store", space, type, sources, address, isVolatile: isVolatile(reader) });
};

const ATOMICS: Readonly<Record<string, AtomicFunction>> = {
  add: "add",
  min: "min",
  max: "max",
  and: "and",
  or: "or",
  xor: "xor",
  exch: "exch",
  cas: "cas",
  inc: "inc",
  dec: "dec",
};

const atomic: Builder = (reader) => {
  const type: DataType = reader.type();
  const name = ATOMICS[reader.choice("function") ?? ""] ?? "add";
  const first = reader.node.opcode === "atom" ? 1 : 0;
  reader.expectOperands(first + (name === "cas" ? 3 : 2));
  const written = spaceOf(reader);
  const space = written === "global" || written === "shared" ? written : "generic";
  const target = first === 0 ? null : reader.operand(0);
  reader.emit({
    op: "atomic",
    space,
    function: name,
    type,
    destination: target === null ? null : reader.destinationOrSink(target, type, "exact"),
    address: reader.address(first, space),
    comparand: name === "cas" ? reader.source(first + 1, type) : null,
    source: reader.source(first + (name === "cas" ? 2 : 1), type),
  });
};

const fence: Builder = (reader) => {
  reader.expectOperands(0);
  reader.emit({ op: "fence" });
};

/** A hint: only its address is checked. */
const prefetch: Builder = (reader) => {
  reader.expectOperands(1);
  reader.address(0, spaceOf(reader));
};

const TYPE = "type=b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64";
const VECTOR = "vector=v2|v4?";
const SCOPE = "scope=cta|cluster|gpu|sys?";
const EVICT =
  "L1=L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate?";
const FETCH = "L2=L2::64B|L2::128B|L2::256B?";
const LOAD_SPACE = "space=param|param::entry|global|const|shared|shared::cta|local?";
const STORE_SPACE = "space=global|shared|shared::cta|local?";
const ANY_TYPE = `${TYPE}|b128`;
const ANY_SPACE =
  "space=param|param::func|param::entry|global|const|shared|shared::cta|shared::cluster|local?";
const LOAD_ORDER = `order=weak|volatile|relaxed|acquire? ${SCOPE}`;
const STORE_ORDER = `order=weak|volatile|relaxed|release? ${SCOPE}`;
const LOAD_CACHE = `cache=ca|cg|cs|lu|cv? nc? ${EVICT} ${FETCH}`;
const STORE_CACHE = `cache=wb|cg|cs|wt? ${EVICT}`;

// What PTX has beyond that: 128 bits, vectors of 8, clusters, cache policies.
const ANY_ORDER = "order=weak|volatile|relaxed|acquire|release|mmio?";
const ANY_HINT =
  "L2a=L2::evict_last|L2::evict_normal|L2::evict_first? hint=L2::cache_hint? unified=unified?";
const ANY_VECTOR = "vector=v2|v4|v8?";
const ANY_FUNCTION = "function=add|min|max noftz?";
const ANY_NUMBER = "type=f16|f16x2|bf16|bf16x2|f32|u32|s32|u64|f64";

const pattern = (...slots: readonly string[]): string => slots.join(" ");

const LOADS: readonly Form[] = [
  form(pattern("ld", LOAD_ORDER, LOAD_SPACE, LOAD_CACHE, VECTOR, TYPE), load),
  form(`ldu space=global? ${VECTOR} ${TYPE}`, load),
  refused(pattern("ld", ANY_ORDER, SCOPE, ANY_SPACE, LOAD_CACHE, ANY_HINT, ANY_VECTOR, ANY_TYPE)),
  form(pattern("st", STORE_ORDER, STORE_SPACE, STORE_CACHE, VECTOR, TYPE), store),
  refused(pattern("st", ANY_ORDER, SCOPE, ANY_SPACE, STORE_CACHE, ANY_HINT, ANY_VECTOR, ANY_TYPE)),
  form("prefetch space=global|local? level=L1|L2", prefetch),
  form("prefetchu level=L1", prefetch),
  refused("prefetch space=global? level=L2::evict_last|L2::evict_normal|tensormap"),
];

const ATOMIC_ORDER = `order=relaxed|acquire|release|acq_rel? ${SCOPE}`;
const ORDER = `${ATOMIC_ORDER} space=global|shared|shared::cta?`;

const arithmetic = (opcode: "atom" | "red"): Form[] => [
  form(`${opcode} ${ORDER} function=add type=u32|s32|u64|f32|f64`, atomic),
  form(`${opcode} ${ORDER} function=min|max type=u32|s32|u64|s64`, atomic),
  form(`${opcode} ${ORDER} function=and|or|xor type=b32|b64`, atomic),
  form(`${opcode} ${ORDER} function=inc|dec type=u32`, atomic),
  refused(pattern(opcode, ATOMIC_ORDER, ANY_SPACE, ANY_FUNCTION, ANY_HINT, ANY_VECTOR, ANY_NUMBER)),
];

const ATOMIC_FORMS: readonly Form[] = [
  ...arithmetic("atom"),
  form(`atom ${ORDER} function=exch|cas type=b32|b64`, atomic),
  refused(`atom ${ORDER} function=exch|cas type=b16|b128`),
  ...arithmetic("red"),
];

const FENCES: readonly Form[] = [
  form("membar level=cta|gl|sys", fence),
  form("fence order=sc|acq_rel? scope=cta|cluster|gpu|sys", fence),
  refused("fence proxy kind=alias|async|async.global|tensormap::generic|async::generic"),
  refused("membar proxy kind=alias|async"),
];

export const MEMORY: readonly Form[] = [...LOADS, ...ATOMIC_FORMS, ...FENCES];
