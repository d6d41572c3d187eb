/**
 * The oracle: runs a kernel one thread at a time, each to its next barrier, in the order of the
 * threads. It shares the IR with the code generator and nothing else, so that the two can be held
 * against each other. Thread and block order are fixed, so a run is repeatable.
 */
import { invariant } from "../../base/mod.ts";
import { alignUp } from "../ir/layout.ts";
import type { Kernel, ModuleData, Position, SpecialRegister } from "../ir/types.ts";
import { writeBits, type InterpreterMemory } from "./memory.ts";
import { FaultSignal, type Fault, type Outcome } from "./outcome.ts";
import type { Spaces } from "./spaces.ts";
import { Thread, type SpecialReader } from "./thread.ts";

export type Dimensions = readonly [x: number, y: number, z: number];

/** One launch, as cuLaunchKernel has it. `parameters` is the parameter block. */
export type Launch = {
  readonly grid: Dimensions;
  readonly block: Dimensions;
  readonly dynamicSharedBytes: number;
  readonly parameters: Uint8Array;
};

/** What is run, and on what. */
export type Interpretation = {
  readonly kernel: Kernel;
  readonly launch: Launch;
  readonly memory: InterpreterMemory;
  /** Where the module's data was put, by `placeData`; 0 for a module without variables. */
  readonly dataAddress?: bigint;
  /** Instructions of all threads together after which the run is given up. */
  readonly stepsMax?: number;
};

/** Enough for every kernel of a test, and about a minute of interpreting. */
export const STEPS_MAX_DEFAULT = 20_000_000;

const WARP_THREADS = 32;

/** Bytes of the module's data with the addresses in it filled in, for a segment at `address`. */
export function relocateData(data: ModuleData, address: bigint): Uint8Array {
  const bytes = data.bytes.slice();
  for (const { offset, addend } of data.relocations) {
    writeBits(bytes, offset, 8, BigInt.asUintN(64, address + BigInt(addend)));
  }
  return bytes;
}

const volumeOf = ([x, y, z]: Dimensions): number => x * y * z;

/** The three coordinates of a linear index, x fastest. */
function coordinatesOf(index: number, [x, y]: Dimensions): Dimensions {
  return [index % x, Math.floor(index / x) % y, Math.floor(index / (x * y))];
}

type Location = { readonly thread: number; readonly block: number };

class Run {
  readonly #it: Interpretation;
  readonly #stepsMax: number;
  #steps = 0;

  constructor(interpretation: Interpretation) {
    this.#it = interpretation;
    this.#stepsMax = interpretation.stepsMax ?? STEPS_MAX_DEFAULT;
  }

  run(): Outcome {
    const blocks = volumeOf(this.#it.launch.grid);
    for (let block = 0; block < blocks; block += 1) {
      const fault = this.#block(block);
      if (fault !== null) return { kind: "fault", fault };
      if (this.#isSpent) return { kind: "stepLimit", steps: this.#steps };
    }
    return { kind: "finished", steps: this.#steps };
  }

  get #isSpent(): boolean {
    return this.#steps > this.#stepsMax;
  }

  #makeThreads(block: number): Thread[] {
    const { kernel, launch, memory, dataAddress = 0n } = this.#it;
    const { parameters, dynamicSharedBytes } = launch;
    const shared = new Uint8Array(kernel.sharedBytes + dynamicSharedBytes);
    return Array.from({ length: volumeOf(launch.block) }, (_, thread) => {
      const local = new Uint8Array(kernel.localBytes);
      const spaces: Spaces = { memory, shared, local, parameters, dataAddress };
      return new Thread(kernel, spaces, this.#specials({ thread, block }));
    });
  }

  /** Runs the threads of a block from barrier to barrier until all have exited. */
  #block(block: number): Fault | null {
    const threads = this.#makeThreads(block);
    while (threads.some(({ state }) => state !== "exited")) {
      for (const [index, thread] of threads.entries()) {
        const fault = this.#advance(thread, { thread: index, block });
        if (fault !== null || this.#isSpent) return fault;
      }
      for (const thread of threads) if (thread.state === "waiting") thread.state = "running";
    }
    return null;
  }

  /** Runs one thread until it waits, exits or faults. */
  #advance(thread: Thread, location: Location): Fault | null {
    const { blocks } = this.#it.kernel;
    let position: Position = { line: 0, column: 0 };
    try {
      while (thread.state === "running" && !this.#isSpent) {
        const block = blocks[thread.block];
        invariant(block !== undefined, `block ${String(thread.block)} exists`);
        for (const instruction of block.instructions) {
          position = instruction.position;
          thread.execute(instruction);
        }
        this.#steps += block.instructions.length + 1;
        position = block.terminator.position;
        this.#leave(thread, block.terminator);
      }
    } catch (error) {
      if (!(error instanceof FaultSignal)) throw error;
      const { code, address, bytes } = error;
      const { line, column } = position;
      return { code, address, bytes, line, column, ...location };
    }
    return null;
  }

  #leave(thread: Thread, terminator: Kernel["blocks"][number]["terminator"]): void {
    switch (terminator.kind) {
      case "jump":
        thread.block = terminator.target;
        return;
      case "branch": {
        const { predicate, onTrue, onFalse } = terminator;
        thread.block = thread.test(predicate) ? onTrue : onFalse;
        return;
      }
      case "barrier":
        thread.block = terminator.resume;
        thread.state = "waiting";
        return;
      case "exit":
        thread.state = "exited";
        return;
      case "trap":
        throw new FaultSignal(715, 0n, 0);
    }
  }

  #specials({ thread, block }: Location): SpecialReader {
    const { grid, block: shape, dynamicSharedBytes } = this.#it.launch;
    const vectors: Readonly<Record<string, Dimensions>> = {
      tid: coordinatesOf(thread, shape),
      ntid: shape,
      ctaid: coordinatesOf(block, grid),
      nctaid: grid,
    };
    const lane = BigInt(thread % WARP_THREADS);
    const below = (1n << lane) - 1n;
    const warps = Math.ceil(volumeOf(shape) / WARP_THREADS);
    const total = alignUp(this.#it.kernel.sharedBytes, 16) + dynamicSharedBytes;
    const scalars: Readonly<Record<string, () => bigint>> = {
      laneid: () => lane,
      warpid: () => BigInt(Math.floor(thread / WARP_THREADS)),
      nwarpid: () => BigInt(warps),
      smid: () => 0n,
      nsmid: () => 1n,
      gridid: () => 1n,
      // Time is the number of instructions so far: it rises, and a run stays repeatable.
      clock: () => BigInt.asUintN(32, BigInt(this.#steps)),
      clock64: () => BigInt(this.#steps),
      globaltimer: () => BigInt(this.#steps),
      lanemask_eq: () => 1n << lane,
      lanemask_lt: () => below,
      lanemask_le: () => below | (1n << lane),
      lanemask_gt: () => 0xffffffffn ^ (below | (1n << lane)),
      lanemask_ge: () => 0xffffffffn ^ below,
      dynamic_smem_size: () => BigInt(dynamicSharedBytes),
      total_smem_size: () => BigInt(total),
    };
    return (name: SpecialRegister) => {
      const [vector = "", axis = ""] = name.split(".");
      const component = vectors[vector]?.[{ x: 0, y: 1, z: 2 }[axis] ?? 0];
      const scalar = scalars[name];
      if (component !== undefined) return BigInt(component);
      invariant(scalar !== undefined, `${name} has a value`);
      return scalar();
    };
  }
}

/** Runs a kernel to its end, a fault, or the step limit. Writes to `memory` as the kernel does. */
export function interpret(interpretation: Interpretation): Outcome {
  const { kernel, launch } = interpretation;
  invariant(
    launch.parameters.length >= kernel.parameterBytes,
    "the parameter block is as large as the kernel's parameters",
  );
  return new Run(interpretation).run();
}
