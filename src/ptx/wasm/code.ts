/** The body of one function, written instruction by instruction. */
import { invariant } from "../../base/mod.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import { MEMORY_OPCODE, PLAIN_OPCODE, type MemoryOpcode, type PlainOpcode } from "./opcode.ts";
import { VALUE_TYPE, type ValueType } from "./value-type.ts";

const OPCODE = {
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  call: 0x10,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  memorySize: 0x3f,
  i32Const: 0x41,
  i64Const: 0x42,
  f32Const: 0x43,
  f64Const: 0x44,
  atomicPrefix: 0xfe,
  fence: 0x03,
  bulkPrefix: 0xfc,
  memoryFill: 0x0b,
} as const;

/** The block type of a block without a result. */
const EMPTY_BLOCK = 0x40;

/** How deep an open block is nested: what branches to it name. */
export type Label = number;

/**
 * A function body under construction. Locals are numbered after the parameters, in the order they
 * are asked for. Instructions chain, so that a body reads as the postfix code it is:
 * `code.get(a).get(b).op("f64.add")`.
 */
export class Code {
  readonly #bytes = new ByteBuffer();
  readonly #parameters: readonly ValueType[];
  #locals: ValueType[] = [];
  #depth = 0;

  constructor(parameters: readonly ValueType[]) {
    this.#parameters = parameters;
  }

  /**
   * A piece of this body that is written on its own and appended later, `depth` blocks deeper than
   * the body is now: what comes before it may depend on what it turns out to need. Locals are
   * shared.
   */
  fragment(depth: number): Code {
    const fragment = new Code(this.#parameters);
    fragment.#locals = this.#locals;
    fragment.#depth = this.#depth + depth;
    return fragment;
  }

  /** Appends a fragment of this body, all of whose blocks are closed. */
  append(fragment: Code): this {
    invariant(
      fragment.#depth === this.#depth,
      "a fragment is appended at the depth it is made for",
    );
    this.#bytes.appendBuffer(fragment.#bytes);
    return this;
  }

  /** How many blocks are open. */
  get depth(): number {
    return this.#depth;
  }

  /** A new local, zero when the function begins. */
  local(type: ValueType): number {
    this.#locals.push(type);
    return this.#parameters.length + this.#locals.length - 1;
  }

  op(name: PlainOpcode): this {
    const code = PLAIN_OPCODE[name];
    if (code > 0xff) this.#bytes.byte(code >> 8).unsigned(code & 0xff);
    else this.#bytes.byte(code);
    return this;
  }

  /** Several instructions without immediates, in order. */
  ops(...names: readonly PlainOpcode[]): this {
    for (const name of names) this.op(name);
    return this;
  }

  /** A load, store or atomic access at `offset` from the address on the stack, which is aligned. */
  memory(name: MemoryOpcode, offset = 0): this {
    const { code, alignment } = MEMORY_OPCODE[name];
    if (code > 0xff) this.#bytes.byte(code >> 8).unsigned(code & 0xff);
    else this.#bytes.byte(code);
    this.#bytes.unsigned(alignment).unsigned(offset);
    return this;
  }

  fence(): this {
    this.#bytes.byte(OPCODE.atomicPrefix).byte(OPCODE.fence).byte(0);
    return this;
  }

  /** The memory's size in pages of 64 KiB. */
  memorySize(): this {
    this.#bytes.byte(OPCODE.memorySize).byte(0);
    return this;
  }

  /** Takes an address, a byte and a count, and fills memory with that byte. */
  memoryFill(): this {
    this.#bytes.byte(OPCODE.bulkPrefix).byte(OPCODE.memoryFill).byte(0);
    return this;
  }

  get(local: number): this {
    this.#bytes.byte(OPCODE.localGet).unsigned(local);
    return this;
  }

  set(local: number): this {
    this.#bytes.byte(OPCODE.localSet).unsigned(local);
    return this;
  }

  tee(local: number): this {
    this.#bytes.byte(OPCODE.localTee).unsigned(local);
    return this;
  }

  getGlobal(index: number): this {
    this.#bytes.byte(OPCODE.globalGet).unsigned(index);
    return this;
  }

  setGlobal(index: number): this {
    this.#bytes.byte(OPCODE.globalSet).unsigned(index);
    return this;
  }

  /** The low 32 bits of `value`. */
  i32(value: number): this {
    this.#bytes.byte(OPCODE.i32Const).signed(value);
    return this;
  }

  /** The low 64 bits of a bigint, or an integer of at most 32 bits with its sign. */
  i64(value: bigint | number): this {
    this.#bytes.byte(OPCODE.i64Const);
    if (typeof value === "number") this.#bytes.signed(value);
    else this.#bytes.signed64(value);
    return this;
  }

  /** The float with this bit pattern. */
  f32(bits: number): this {
    this.#bytes.byte(OPCODE.f32Const).fixed32(bits);
    return this;
  }

  /** The double with this bit pattern, or of this value. */
  f64(value: bigint | number): this {
    const bits = typeof value === "bigint" ? value : bitsOfDouble(value);
    this.#bytes.byte(OPCODE.f64Const).fixed64(bits);
    return this;
  }

  call(functionIndex: number): this {
    this.#bytes.byte(OPCODE.call).unsigned(functionIndex);
    return this;
  }

  /** Opens a block; a branch to the label goes to its end. */
  block(result?: ValueType): Label {
    return this.#open(OPCODE.block, result);
  }

  /** Opens a loop; a branch to the label goes to its beginning. */
  loop(): Label {
    return this.#open(OPCODE.loop, undefined);
  }

  /** Takes a condition and opens its true side; a branch to the label goes to the end of both. */
  if(result?: ValueType): Label {
    return this.#open(OPCODE.if, result);
  }

  #open(opcode: number, result: ValueType | undefined): Label {
    this.#bytes.byte(opcode).byte(result === undefined ? EMPTY_BLOCK : VALUE_TYPE[result]);
    this.#depth += 1;
    return this.#depth;
  }

  else(): this {
    this.#bytes.byte(OPCODE.else);
    return this;
  }

  /** Closes the innermost block, loop or if. */
  end(): this {
    this.#bytes.byte(OPCODE.end);
    this.#depth -= 1;
    return this;
  }

  branch(label: Label): this {
    this.#bytes.byte(OPCODE.br).unsigned(this.#depth - label);
    return this;
  }

  branchIf(label: Label): this {
    this.#bytes.byte(OPCODE.brIf).unsigned(this.#depth - label);
    return this;
  }

  /** Branches to the label that the i32 on the stack picks, or to `otherwise` past the last. */
  branchTable(labels: readonly Label[], otherwise: Label): this {
    this.#bytes.byte(OPCODE.brTable).unsigned(labels.length);
    for (const label of [...labels, otherwise]) this.#bytes.unsigned(this.#depth - label);
    return this;
  }

  /** The finished body as the code section wants it: locals, instructions, `end`. */
  encode(): ByteBuffer {
    const groups: { type: ValueType; count: number }[] = [];
    for (const type of this.#locals) {
      const last = groups.at(-1);
      if (last?.type === type) last.count += 1;
      else groups.push({ type, count: 1 });
    }
    const body = new ByteBuffer().unsigned(groups.length);
    for (const { type, count } of groups) body.unsigned(count).byte(VALUE_TYPE[type]);
    return body.appendBuffer(this.#bytes).byte(OPCODE.end);
  }
}

const scratch = new DataView(new ArrayBuffer(8));

/** The bit pattern of a double. */
export function bitsOfDouble(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}
