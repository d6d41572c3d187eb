import { invariant } from "../base/mod.ts";
import { GpuError } from "../gpu/mod.ts";
import { BLOCK_BYTES } from "./region-allocator.ts";
import { DeviceClock } from "./device-clock.ts";
import type { Allocation, DeviceMemory } from "./device-memory.ts";
import { ThreadExecutor, type Executor } from "./executor.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import type { MemoryShelf } from "./memory-shelf.ts";
import { Scheduler } from "./scheduler.ts";
import { ScratchMemory } from "./scratch-memory.ts";
import { createSpoiler, type InjectedFault } from "./wrong-element.ts";

/** What all contexts of a device share. */
export type SoftDevice = {
  readonly budget: MemoryBudget;
  readonly shelf: MemoryShelf;
  readonly fault: InjectedFault | null;
};

/**
 * What the parts of a context share: its memory, its scheduler, and whether it is still there. Each
 * context has a memory and workers of its own, so that what is lost with one is lost to it alone.
 */
export class ContextCore {
  readonly #shelf: MemoryShelf;
  readonly memory: DeviceMemory;
  readonly clock = new DeviceClock();
  readonly executor: Executor;
  readonly scheduler: Scheduler;
  readonly scratch: ScratchMemory;
  readonly #budget: MemoryBudget;
  #takenBytes = 0;
  #lastKernelId = 0;
  #isClosed = false;

  /** Throws RangeError when the machine has no address space left for another memory. */
  constructor(device: SoftDevice, workers: number) {
    this.#budget = device.budget;
    this.#shelf = device.shelf;
    this.memory = device.shelf.take();
    this.executor = new ThreadExecutor({
      memory: this.memory,
      clock: this.clock,
      workers,
      spoil: device.fault === null ? null : createSpoiler(this.memory, device.fault),
      wake: () => {
        this.scheduler.pump();
      },
    });
    this.scheduler = new Scheduler(this.executor, this.clock);
    this.scratch = new ScratchMemory(this.memory, workers, (release) => {
      this.scheduler.afterQueued(release);
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get freeBytes(): number {
    return this.#budget.freeBytes;
  }

  get totalBytes(): number {
    return this.#budget.totalBytes;
  }

  nextKernelId(): number {
    this.#lastKernelId += 1;
    return this.#lastKernelId;
  }

  /** Moves the queues on and throws GpuError where the context is lost; `call` is CUDA's name. */
  check(call: string): void {
    invariant(!this.#isClosed, `${call} on a closed context`);
    this.scheduler.pump();
    const { loss } = this.scheduler;
    if (loss === null) return;
    const { code, errorName, detail } = loss;
    // Only this context is gone: the memory and the workers were its own.
    throw new GpuError({ code, errorName, call, sticky: false, detail });
  }

  /** Device memory out of the device's budget; null when there is none left. */
  allocate(bytes: number): Allocation | null {
    const cost = costOf(bytes);
    if (!this.#budget.take(cost)) return null;
    const allocation = this.memory.allocate(bytes);
    if (allocation === null) this.#budget.give(cost);
    else this.#takenBytes += cost;
    return allocation;
  }

  /** Frees it once all work queued so far is done, since that may still use it. */
  free(allocation: Allocation): void {
    if (this.#isClosed) return;
    this.scheduler.afterQueued(() => {
      this.memory.free(allocation);
      this.#budget.give(costOf(allocation.bytes));
      this.#takenBytes -= costOf(allocation.bytes);
    });
  }

  /** Ends the workers, also in the middle of a kernel, and gives the memory back. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.scheduler.close().then(() => {
      this.#shelf.give(this.memory);
    });
    this.#budget.give(this.#takenBytes);
    this.#takenBytes = 0;
  }
}

/** What an allocation takes from the budget: whole blocks, as the heap gives them out. */
const costOf = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
