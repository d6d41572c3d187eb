/**
 * Values that are the same for all threads of a block, or constant while one thread runs, and that
 * compiled code keeps in locals. Each is computed at the start of the function that asks for it.
 */
import { LAUNCH } from "../../abi.ts";
import type { Code } from "../../wasm/code.ts";
import type { ValueType } from "../../wasm/value-type.ts";
import { GLOBAL } from "./globals.ts";

type BlockValue = { readonly type: ValueType; readonly write: (code: Code) => void };

const fromLaunch = (offset: number): BlockValue => ({
  type: "i32",
  write: (code) => code.getGlobal(GLOBAL.launch).memory("i32.load", offset),
});

const fromGlobal = (index: number): BlockValue => ({
  type: "i32",
  write: (code) => code.getGlobal(index),
});

const sum = (code: Code, offset: number): Code =>
  code.getGlobal(GLOBAL.scratch).getGlobal(GLOBAL.launch).memory("i32.load", offset).op("i32.add");

const sharedRoom = (log2: number): BlockValue => ({
  type: "i64",
  write: (code) =>
    code
      .getGlobal(GLOBAL.launch)
      .memory("i32.load", LAUNCH.sharedBytes)
      .op("i64.extend_i32_u")
      .i64(log2)
      .op("i64.shr_u"),
});

/** Granules of a memory page of 64 KiB, log2. */
const GRANULES_PER_PAGE_LOG2 = 9;

export const BLOCK_VALUE = {
  scratch: fromGlobal(GLOBAL.scratch),
  "ctaid.x": fromGlobal(GLOBAL.blockX),
  "ctaid.y": fromGlobal(GLOBAL.blockY),
  "ctaid.z": fromGlobal(GLOBAL.blockZ),
  "ntid.x": fromLaunch(LAUNCH.blockX),
  "ntid.y": fromLaunch(LAUNCH.blockY),
  "ntid.z": fromLaunch(LAUNCH.blockZ),
  "nctaid.x": fromLaunch(LAUNCH.gridX),
  "nctaid.y": fromLaunch(LAUNCH.gridY),
  "nctaid.z": fromLaunch(LAUNCH.gridZ),
  threads: fromLaunch(LAUNCH.threads),
  sharedBytes: fromLaunch(LAUNCH.sharedBytes),
  dynamicSharedBytes: fromLaunch(LAUNCH.dynamicSharedBytes),
  parameters: fromLaunch(LAUNCH.parameters),
  moduleData: fromLaunch(LAUNCH.moduleData),
  granules: fromLaunch(LAUNCH.granules),
  /** Entries of the granule table: one for each granule of the memory. */
  granuleCount: {
    type: "i64",
    write: (code) =>
      code.memorySize().op("i64.extend_i32_u").i64(GRANULES_PER_PAGE_LOG2).op("i64.shl"),
  },
  /** Address of the block's shared memory, and of its first thread's local memory. */
  shared: { type: "i32", write: (code) => sum(code, LAUNCH.sharedOffset) },
  local: { type: "i32", write: (code) => sum(code, LAUNCH.localOffset) },
  /**
   * The same as 64 bits wide, and how many aligned accesses of a size shared memory has room for.
   */
  sharedWide: {
    type: "i64",
    write: (code) => sum(code, LAUNCH.sharedOffset).op("i64.extend_i32_u"),
  },
  sharedBy1: sharedRoom(0),
  sharedBy2: sharedRoom(1),
  sharedBy4: sharedRoom(2),
  sharedBy8: sharedRoom(3),
  sharedBy16: sharedRoom(4),
  sharedBy32: sharedRoom(5),
} as const satisfies Record<string, BlockValue>;

export type BlockValueName = keyof typeof BLOCK_VALUE;

/** The block values that one function uses, as locals. */
export class BlockValues {
  readonly #code: Code;
  readonly #locals = new Map<BlockValueName, number>();

  constructor(code: Code) {
    this.#code = code;
  }

  /** The local that will hold a value. */
  local(name: BlockValueName): number {
    const known = this.#locals.get(name);
    if (known !== undefined) return known;
    const local = this.#code.local(BLOCK_VALUE[name].type);
    this.#locals.set(name, local);
    return local;
  }

  /** Computes every value that was asked for. */
  write(code: Code): void {
    for (const [name, local] of this.#locals) {
      BLOCK_VALUE[name].write(code);
      code.set(local);
    }
  }
}
