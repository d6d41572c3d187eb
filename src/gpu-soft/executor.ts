import { invariant } from "../base/mod.ts";
import type { Dim3 } from "../gpu/mod.ts";
import { LAUNCH, LAUNCH_BYTES, type ScratchLayout } from "../ptx/mod.ts";
import { GRANULES_ADDRESS, LAUNCH_ADDRESS, PARAMETERS_ADDRESS } from "./address-map.ts";
import type { DeviceClock } from "./device-clock.ts";
import type { DeviceMemory } from "./device-memory.ts";
import { failureLoss, faultLoss, readFault, type FaultedLaunch, type Loss } from "./fault.ts";
import { blockCount, threadCount } from "./launch-limits.ts";
import type { ScratchAreas } from "./scratch-memory.ts";
import { WorkerPool, type PoolKernel } from "./worker-pool.ts";

/** A launch that was accepted: all that its execution needs, by value. */
export type AcceptedLaunch = FaultedLaunch & {
  readonly kernel: PoolKernel;
  readonly sharedBytes: number;
  readonly dynamicSharedBytes: number;
  readonly parameters: Uint8Array;
  /** Where in the parameters an address may lie. */
  readonly addressOffsets: readonly number[];
  /** Address of the module's data segment; 0 where it has none. */
  readonly moduleData: number;
  readonly scratch: ScratchAreas;
  readonly layout: ScratchLayout;
};

export type ExecutorState =
  | { readonly kind: "idle" }
  | { readonly kind: "running" }
  | { readonly kind: "done"; readonly endNs: number }
  | { readonly kind: "lost"; readonly loss: Loss };

/** What executes launches, one at a time, for the scheduler. */
export type Executor = {
  /** True when a launch can begin at once. The first question starts the workers. */
  readonly isReady: () => boolean;
  readonly begin: (launch: AcceptedLaunch) => void;
  /** How the launch in progress stands; tells `done` once. */
  readonly poll: () => ExecutorState;
  readonly drop: (kernelId: number) => void;
  /** Resolves when nothing touches the memory any more. */
  readonly close: () => Promise<void>;
};

/** Executes launches on worker threads. `wake` is called when a question may have a new answer. */
export class ThreadExecutor implements Executor {
  readonly #memory: DeviceMemory;
  readonly #clock: DeviceClock;
  readonly #workers: number;
  readonly #wake: () => void;
  readonly #spoil: ((launch: AcceptedLaunch) => void) | null;
  #pool: WorkerPool | null = null;
  #startedNs = 0;
  #isUp = false;
  #launch: AcceptedLaunch | null = null;

  constructor(options: {
    readonly memory: DeviceMemory;
    readonly clock: DeviceClock;
    readonly workers: number;
    readonly wake: () => void;
    /** Called with each launch that has ended; null for a device that is right. */
    readonly spoil: ((launch: AcceptedLaunch) => void) | null;
  }) {
    this.#memory = options.memory;
    this.#clock = options.clock;
    this.#workers = options.workers;
    this.#wake = options.wake;
    this.#spoil = options.spoil;
  }

  isReady = (): boolean => {
    if (this.#isUp) return true;
    if (this.#pool === null) {
      this.#startedNs = this.#clock.now();
      this.#pool = new WorkerPool(this.#workers, this.#memory.memory, this.#wake);
    }
    if (!this.#pool.isReady) return false;
    this.#isUp = true;
    this.#clock.stoodStill(this.#startedNs, this.#clock.at(this.#pool.readyNs));
    return true;
  };

  begin = (launch: AcceptedLaunch): void => {
    invariant(this.#pool !== null && this.#isUp, "the workers are up before a launch");
    this.#launch = launch;
    const { address, strideBytes } = launch.scratch;
    const blocks = blockCount(launch.grid);
    this.#writeDescriptor(launch);
    // Fault records are clear: areas begin as zeros, and a record that is filled loses the context.
    const { kernel } = launch;
    this.#pool.begin({ kernel, blocks, scratch: address, scratchStride: strideBytes });
  };

  poll = (): ExecutorState => {
    if (this.#pool === null) return { kind: "idle" };
    const state = this.#pool.poll();
    switch (state.kind) {
      case "idle":
      case "running":
        return state;
      case "done":
        if (this.#launch !== null) this.#spoil?.(this.#launch);
        this.#launch = null;
        return { kind: "done", endNs: this.#clock.at(state.endNs) };
      case "failed":
        return { kind: "lost", loss: this.#lossOf(state.worker, state.text) };
      case "crashed":
        return { kind: "lost", loss: failureLoss(state.text, this.#launch) };
    }
  };

  drop = (kernelId: number): void => {
    this.#pool?.drop(kernelId);
  };

  close = async (): Promise<void> => {
    await this.#pool?.close();
  };

  #writeDescriptor(launch: AcceptedLaunch): void {
    const { bytes } = this.#memory;
    const view = new DataView(bytes.buffer, LAUNCH_ADDRESS, LAUNCH_BYTES);
    const words: Record<keyof typeof LAUNCH, number> = {
      gridX: launch.grid[0],
      gridY: launch.grid[1],
      gridZ: launch.grid[2],
      blockX: launch.block[0],
      blockY: launch.block[1],
      blockZ: launch.block[2],
      threads: threadCount(launch.block),
      sharedBytes: launch.sharedBytes,
      dynamicSharedBytes: launch.dynamicSharedBytes,
      parameters: PARAMETERS_ADDRESS,
      moduleData: launch.moduleData,
      granules: GRANULES_ADDRESS,
      sharedOffset: launch.layout.sharedOffset,
      localOffset: launch.layout.localOffset,
    };
    for (const [name, offset] of Object.entries(LAUNCH)) {
      view.setUint32(offset, words[name as keyof typeof LAUNCH], true);
    }
    bytes.set(launch.parameters, PARAMETERS_ADDRESS);
  }

  #lossOf(worker: number, text: string | null): Loss {
    const launch = this.#launch;
    invariant(launch !== null, "a worker fails in a launch");
    if (text !== null) return failureLoss(text, launch);
    const { address, strideBytes } = launch.scratch;
    const fault = readFault(this.#memory.bytes, address + worker * strideBytes);
    return faultLoss(fault, launch, this.#memory.nearestBelow(Number(fault.address)));
  }
}

/** The kind of Dim3 that a caller cannot change afterwards. */
export const copyOfSizes = (sizes: Dim3): Dim3 => [sizes[0], sizes[1], sizes[2]];
