/**
 * A quick look at a block of an output: its sum, and whether every word is bit for bit what its
 * inputs give. It is WebAssembly, some hundred bytes made by hand: a JavaScript engine takes twice
 * as long for the same loop, and five times the first times that it runs it.
 *
 * To it a NaN of another payload differs; whoever wants to know more of a block that differs looks
 * again, slowly.
 */

/** Elements of a block: three of them, one for each array, stay in a processor's cache. */
const BLOCK_ELEMENTS = 16 * 1024;

const WORD_BYTES = 4;
const BLOCK_BYTES = BLOCK_ELEMENTS * WORD_BYTES;
const PAGE_BYTES = 64 * 1024;

/** Where things lie in the module's memory. */
const ADDRESS = {
  first: 0,
  second: BLOCK_BYTES,
  output: 2 * BLOCK_BYTES,
  /** One word: 0 where no element differs. */
  difference: 3 * BLOCK_BYTES,
} as const;

/** Of the WebAssembly core specification, section 5. */
const TYPE = { i32: 0x7f, f64: 0x7c } as const;

/** Bytes of code, nested as one likes. */
type Code = readonly (number | Code)[];

const flat = (code: Code): number[] =>
  code.flatMap((each) => (typeof each === "number" ? [each] : flat(each)));

/** An unsigned number, in LEB128. */
const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];

const sized = (code: Code): Code => [unsigned(flat(code).length), code];
const section = (id: number, code: Code): Code => [id, sized(code)];
const name = (text: string): Code => sized([...new TextEncoder().encode(text)]);

/** The parameters of a loop, then its locals. */
const LOCAL = { endBytes: 0, sum: 1, at: 2, difference: 3, word: 4 } as const;

const get = (local: keyof typeof LOCAL): Code => [0x20, LOCAL[local]];
const set = (local: keyof typeof LOCAL, value: Code): Code => [value, 0x21, LOCAL[local]];
/** i32.const, of one byte: below 64. */
const small = (value: number): Code => [0x41, value];
const memory = (opcode: number, address: number): Code => [opcode, 2, unsigned(address)];
const loadI32 = (address: number): Code => [get("at"), memory(0x28, address)];
const loadF32 = (address: number): Code => [get("at"), memory(0x2a, address)];
const toF32 = (word: Code): Code => [word, 0xbe];
const toBits = (float: Code): Code => [float, 0xbc];
const addI32 = (left: Code, right: Code): Code => [left, right, 0x6a];
const addF32 = (left: Code, right: Code): Code => [left, right, 0x92];
const addF64 = (left: Code, right: Code): Code => [left, right, 0xa0];
const or = (left: Code, right: Code): Code => [left, right, 0x72];
const xor = (left: Code, right: Code): Code => [left, right, 0x73];
const isBelow = (left: Code, right: Code): Code => [left, right, 0x49];

/**
 * (endBytes, sum) -> sum: over all elements, adds the output's to the sum as `value` has it, and
 * notes in which bits it is not `expected`. At least one element.
 */
const loop = (expected: Code, value: Code): Code => [
  ...[0x03, 0x40],
  set("word", loadI32(ADDRESS.output)),
  set("sum", addF64(get("sum"), value)),
  set("difference", or(get("difference"), xor(expected, get("word")))),
  set("at", addI32(get("at"), small(WORD_BYTES))),
  [isBelow(get("at"), get("endBytes")), 0x0d, 0],
  0x0b,
  [small(0), get("difference"), memory(0x36, ADDRESS.difference)],
  get("sum"),
  0x0b,
];

const LOOPS = {
  /** The output is the first array; its words are summed as unsigned numbers. */
  mail: loop(loadI32(ADDRESS.first), [get("word"), 0xb8]),
  /** The output is the sum of both arrays, in f32, which rounds each once. */
  vadd: loop(toBits(addF32(loadF32(ADDRESS.first), loadF32(ADDRESS.second))), [
    toF32(get("word")),
    0xbb,
  ]),
} as const;

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const names = Object.keys(LOOPS);
  const locals = [1, 3, TYPE.i32];
  const pages = Math.ceil((ADDRESS.difference + WORD_BYTES) / PAGE_BYTES);
  const code: Code = [
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [1, 0x60, 2, TYPE.i32, TYPE.f64, 1, TYPE.f64]),
    section(3, [names.length, names.map(() => 0)]),
    section(5, [1, 0, unsigned(pages)]),
    section(7, [
      names.length + 1,
      [name("memory"), 2, 0],
      names.map((each, index) => [name(each), 0, index]),
    ]),
    section(10, [names.length, Object.values(LOOPS).map((body) => sized([locals, body]))]),
  ];
  return Uint8Array.from(flat(code));
}

type Loops = Readonly<Record<keyof typeof LOOPS, (endBytes: number, sum: number) => number>>;

type Words = Float32Array | Uint32Array;

/** Looks at one output; what it copies blocks to is its own, so one serves one thread. */
export type QuickLook = {
  /**
   * The sum, from `sum` on, where all of the block is right; null where any bit differs. Inputs are
   * as long as the output, which is at most `blockElements` long.
   */
  readonly look: (
    kernel: keyof typeof LOOPS,
    output: Words,
    inputs: readonly Words[],
    sum: number,
  ) => number | null;
  readonly blockElements: number;
};

export function createQuickLook(): QuickLook {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
  const { buffer } = exports["memory"] as WebAssembly.Memory;
  const loops = exports as unknown as Loops;
  const words = (address: number): Uint32Array => new Uint32Array(buffer, address, BLOCK_ELEMENTS);
  const inputPlaces = [words(ADDRESS.first), words(ADDRESS.second)];
  const outputPlace = words(ADDRESS.output);
  const difference = new Uint32Array(buffer, ADDRESS.difference, 1);
  return {
    blockElements: BLOCK_ELEMENTS,
    look: (kernel, output, inputs, sum) => {
      if (output.length === 0) return sum;
      outputPlace.set(wordsOf(output));
      for (const [index, input] of inputs.entries()) inputPlaces[index]?.set(wordsOf(input));
      const total = loops[kernel](output.length * WORD_BYTES, sum);
      return difference[0] === 0 ? total : null;
    },
  };
}

/** Words are copied as they are; a float array set from another kind would convert. */
const wordsOf = (values: Words): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, values.length);
