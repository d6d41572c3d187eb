/**
 * For tests of the runtime: kernels of a few bytes, written by hand in WebAssembly, that keep to the
 * contract with compiled ones (ptx/abi.ts). With them the runtime is tested without the compiler.
 */
import { err, ok } from "../base/mod.ts";
import { FAULT, FAULT_CODE, LAUNCH, type CompiledKernel } from "../ptx/mod.ts";
import type { Compiler } from "./compiler.ts";
import { refusal } from "./refusal.ts";

type Code = readonly (number | Code)[];

const flat = (code: Code): number[] =>
  code.flatMap((each) => (typeof each === "number" ? [each] : flat(each)));

/** A signed LEB128 number, which for lengths and indices below 64 is the unsigned one too. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    const byte = rest & 0x7f;
    const isLast = (rest >> 7 === 0 && byte < 0x40) || (rest >> 7 === -1 && byte >= 0x40);
    bytes.push(isLast ? byte : byte | 0x80);
    if (isLast) return bytes;
  }
}

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

const sized = (code: Code): Code => [unsigned(flat(code).length), code];
const section = (id: number, code: Code): Code => [id, sized(code)];
const name = (text: string): Code => sized([...new TextEncoder().encode(text)]);

/** The parameters of `run`, and the locals after them. */
const LOCAL = { launch: 0, scratch: 1, block: 2, end: 3, thread: 4, count: 5 } as const;

const get = (local: keyof typeof LOCAL): Code => [0x20, LOCAL[local]];
const set = (local: keyof typeof LOCAL, value: Code): Code => [value, 0x21, LOCAL[local]];
const constant = (value: number): Code => [0x41, signed(value)];
const load = (address: Code, offset = 0): Code => [address, 0x28, 2, unsigned(offset)];
const store = (address: Code, offset: number, value: Code): Code => [
  ...[address, value],
  ...[0x36, 2, unsigned(offset)],
];
const add = (left: Code, right: Code): Code => [left, right, 0x6a];
const multiply = (left: Code, right: Code): Code => [left, right, 0x6c];
const equal = (left: Code, right: Code): Code => [left, right, 0x46];
const below = (left: Code, right: Code): Code => [left, right, 0x49];
const when = (condition: Code, then: Code): Code => [condition, 0x04, 0x40, then, 0x0b];
const repeatWhile = (condition: Code, body: Code): Code => [
  ...[0x02, 0x40, 0x03, 0x40],
  ...[condition, 0x45, 0x0d, 1, body, 0x0c, 0],
  ...[0x0b, 0x0b],
];
const atomicAdd = (address: Code, value: Code): Code => [address, value, 0xfe, 0x1e, 2, 0];
const UNREACHABLE: Code = [0x00];

const launchWord = (word: keyof typeof LAUNCH): Code => load(get("launch"), LAUNCH[word]);
/** A 64-bit parameter's low half, or a 32-bit one. */
const parameter = (offset: number): Code => load(launchWord("parameters"), offset);

const increment = (local: keyof typeof LOCAL): Code => set(local, add(get(local), constant(1)));

const forEachThread = (body: Code): Code => [
  set("thread", constant(0)),
  repeatWhile(below(get("thread"), launchWord("threads")), [body, increment("thread")]),
];

/** A module whose `run` does `body` for each of its blocks. */
function kernelModule(body: Code): Uint8Array {
  const perBlock = repeatWhile(below(get("block"), get("end")), [body, increment("block")]);
  return Uint8Array.from(
    flat([
      [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      section(1, [1, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 0]),
      section(2, [1, name("holdfast"), name("memory"), 2, 3, 1, 0x80, 0x80, 4]),
      section(3, [1, 0]),
      section(7, [1, name("run"), 0, 0]),
      section(10, [1, sized([1, 2, 0x7f, perBlock, 0x0b])]),
    ]),
  );
}

/** The address of this thread's element in the array of u32 that the first parameter points to. */
const element: Code = add(
  parameter(0),
  multiply(add(multiply(get("block"), launchWord("threads")), get("thread")), constant(4)),
);

const BODIES: Readonly<Record<string, Code>> = {
  /** (u64 words, u32 delta): words[global thread] += delta. */
  add: forEachThread(store(element, 0, add(load(element), parameter(8)))),
  /** (u64 words, u32 rounds): counts to `rounds` in each block, then words[block] += 1. */
  slow: [
    set("count", constant(0)),
    repeatWhile(below(get("count"), parameter(8)), increment("count")),
    [atomicAdd(add(parameter(0), multiply(get("block"), constant(4))), constant(1)), 0x1a],
  ],
  /** (u64 words, u32): words[1 + block] = words[0]++, so the order in which blocks ran. */
  order: store(
    add(parameter(0), multiply(get("block"), constant(4))),
    4,
    atomicAdd(parameter(0), constant(1)),
  ),
  /** (u64, u32): never ends. */
  endless: [0x03, 0x40, 0x0c, 0, 0x0b],
  /** (u64 address, u32 block): in that block, reports an illegal access there and traps. */
  fault: when(equal(get("block"), parameter(8)), [
    store(get("scratch"), FAULT.code, constant(FAULT_CODE.illegalAddress)),
    store(get("scratch"), FAULT.line, constant(12)),
    store(get("scratch"), FAULT.column, constant(5)),
    store(get("scratch"), FAULT.address, parameter(0)),
    store(get("scratch"), FAULT.address + 4, constant(0)),
    store(get("scratch"), FAULT.thread, constant(33)),
    store(get("scratch"), FAULT.block, get("block")),
    store(get("scratch"), FAULT.bytes, constant(4)),
    UNREACHABLE,
  ]),
  /** (u64, u32): traps and leaves no record, as only a bug of the compiler can. */
  trap: UNREACHABLE,
  /** (u64, u32): does nothing, and wants as much local memory as CUDA allows a thread. */
  local: [],
  /** (u64 words, u32): words[block] = the u32 that the module's data segment begins with. */
  data: store(
    add(parameter(0), multiply(get("block"), constant(4))),
    0,
    load(launchWord("moduleData")),
  ),
};

/** Bytes of the parameter block of each: (u64, u32). */
export const HAND_MADE_PARAMETER_BYTES = 12;

/** What the module's data segment holds; its second word is relocated to the first one's address. */
const DATA_BYTES = Uint8Array.from([0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/** Takes any text but `refused`, and offers the kernels above. */
export const handMadeCompiler: Compiler = {
  computeCapability: [9, 0],
  load: (ptx, fileName) => {
    if (ptx === "refused") {
      return err(refusal("invalid_ptx", "cuModuleLoadDataEx", `${fileName}:1:1: no PTX`));
    }
    return ok({
      kernelNames: Object.keys(BODIES),
      data: { bytes: DATA_BYTES, symbols: [], relocations: [{ offset: 8, addend: 0 }] },
      compile: (kernelName) => ok(handMadeKernel(kernelName)),
    });
  },
};

export function handMadeKernel(kernelName: string): CompiledKernel {
  return {
    name: kernelName,
    wasm: kernelModule(BODIES[kernelName] ?? UNREACHABLE),
    parameters: [
      { name: "words", type: "u64", offset: 0, bytes: 8 },
      { name: "number", type: "u32", offset: 8, bytes: 4 },
    ],
    parameterBytes: HAND_MADE_PARAMETER_BYTES,
    sharedBytes: 0,
    localBytes: kernelName === "local" ? 512 * 1024 : 0,
    threadsMax: 512,
    contextBytes: 0,
    imports: [],
  };
}
