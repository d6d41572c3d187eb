/**
 * Runs compiled kernels on the calling thread, for tests: a small device in one shared memory, with
 * an allocator that never frees. Nothing of the software GPU is used, so that each can be trusted
 * when the other is in doubt.
 */
import { invariant } from "../../base/mod.ts";
import { FAULT, GRANULE_BYTES, LAUNCH, LAUNCH_BYTES } from "../abi.ts";
import { relocateData } from "../interpreter/interpreter.ts";
import type { ModuleData } from "../ir/types.ts";
import { scratchLayout, type CompiledKernel } from "./image.ts";
import { kernelImports } from "./imports.ts";

const PAGE_BYTES = 65536;

/** 16 MiB: the granule table, a scratch area for 1024 threads, and what tests allocate. */
const MEMORY_PAGES = 256;

const GRANULES_OFFSET = PAGE_BYTES;
const LAUNCH_OFFSET = GRANULES_OFFSET + (MEMORY_PAGES * PAGE_BYTES) / GRANULE_BYTES;
const HEAP_OFFSET = LAUNCH_OFFSET + PAGE_BYTES;

type Dimensions = readonly [x: number, y: number, z: number];

export type TestLaunch = {
  readonly grid?: Dimensions;
  readonly block?: Dimensions;
  readonly dynamicSharedBytes?: number;
  /** The parameter block. */
  readonly parameters?: Uint8Array;
  /** Address of the module's data. */
  readonly moduleData?: number;
};

/** What the fault record said after a trap. */
export type TestFault = {
  readonly code: number;
  readonly line: number;
  readonly column: number;
  readonly address: bigint;
  readonly thread: number;
  readonly block: number;
  readonly bytes: number;
};

type Run = (launch: number, scratch: number, firstBlock: number, endBlock: number) => void;

export class TestDevice {
  readonly memory = new WebAssembly.Memory({
    initial: MEMORY_PAGES,
    maximum: MEMORY_PAGES,
    shared: true,
  });
  #end = HEAP_OFFSET;

  get #view(): DataView {
    return new DataView(this.memory.buffer);
  }

  /** The bytes at an address, in place. */
  bytesAt(address: number, bytes: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, bytes);
  }

  #reserve(bytes: number): number {
    const address = this.#end;
    this.#end += Math.ceil((bytes + 1) / GRANULE_BYTES) * GRANULE_BYTES;
    invariant(this.#end <= this.memory.buffer.byteLength, "the test device has room");
    return address;
  }

  /** A copy of `content` in device memory, exactly as large as that. */
  allocate(content: Uint8Array): number {
    const address = this.#reserve(content.length);
    const table = this.bytesAt(GRANULES_OFFSET, this.memory.buffer.byteLength / GRANULE_BYTES);
    for (let offset = 0; offset < content.length; offset += GRANULE_BYTES) {
      const valid = Math.min(GRANULE_BYTES, content.length - offset);
      table[(address + offset) / GRANULE_BYTES] = valid;
    }
    this.bytesAt(address, content.length).set(content);
    return address;
  }

  /** The module's variables, relocated; they are aligned to 256. */
  placeData(data: ModuleData): number {
    this.#end = Math.ceil(this.#end / 256) * 256;
    const address = this.allocate(data.bytes);
    this.bytesAt(address, data.bytes.length).set(relocateData(data, BigInt(address)));
    return address;
  }

  /** Runs a kernel over its whole grid; null when it finished. */
  run(kernel: CompiledKernel, launch: TestLaunch = {}): TestFault | null {
    const { grid = [1, 1, 1], block = [1, 1, 1], dynamicSharedBytes = 0 } = launch;
    const threads = block[0] * block[1] * block[2];
    const sharedBytes = Math.ceil(kernel.sharedBytes / 16) * 16 + dynamicSharedBytes;
    const layout = scratchLayout(kernel, threads, sharedBytes);
    const scratch = this.#reserve(layout.bytes);
    const parameters = this.#reserve(kernel.parameterBytes);
    this.bytesAt(parameters, kernel.parameterBytes).set(launch.parameters ?? []);
    const words: [number, number][] = [
      ...([0, 1, 2] as const).map((axis): [number, number] => [
        LAUNCH.gridX + 4 * axis,
        grid[axis],
      ]),
      ...([0, 1, 2] as const).map((axis): [number, number] => [
        LAUNCH.blockX + 4 * axis,
        block[axis],
      ]),
      [LAUNCH.threads, threads],
      [LAUNCH.sharedBytes, sharedBytes],
      [LAUNCH.dynamicSharedBytes, dynamicSharedBytes],
      [LAUNCH.parameters, parameters],
      [LAUNCH.moduleData, launch.moduleData ?? 0],
      [LAUNCH.granules, GRANULES_OFFSET],
      [LAUNCH.sharedOffset, layout.sharedOffset],
      [LAUNCH.localOffset, layout.localOffset],
    ];
    this.bytesAt(LAUNCH_OFFSET, LAUNCH_BYTES).fill(0);
    for (const [offset, value] of words) this.#view.setUint32(LAUNCH_OFFSET + offset, value, true);
    const module = new WebAssembly.Module(kernel.wasm);
    const instance = new WebAssembly.Instance(module, kernelImports(this.memory));
    try {
      (instance.exports["run"] as Run)(LAUNCH_OFFSET, scratch, 0, grid[0] * grid[1] * grid[2]);
    } catch (error) {
      const fault = this.#faultAt(scratch);
      if (error instanceof WebAssembly.RuntimeError && fault !== null) return fault;
      throw error;
    }
    return null;
  }

  #faultAt(scratch: number): TestFault | null {
    const word = (offset: number): number => this.#view.getUint32(scratch + offset, true);
    if (word(FAULT.code) === 0) return null;
    return {
      code: word(FAULT.code),
      line: word(FAULT.line),
      column: word(FAULT.column),
      address: this.#view.getBigUint64(scratch + FAULT.address, true),
      thread: word(FAULT.thread),
      block: word(FAULT.block),
      bytes: word(FAULT.bytes),
    };
  }
}
