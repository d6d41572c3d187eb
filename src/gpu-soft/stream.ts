import { invariant, ok, type Result } from "../base/mod.ts";
import type { DeviceRange, GpuEvent, GpuRefusal, HostBuffer, Launch, Stream } from "../gpu/mod.ts";
import { scratchLayout } from "../ptx/mod.ts";
import { hostPart, SoftBuffer } from "./buffer.ts";
import type { ContextCore } from "./context-core.ts";
import { SoftEvent } from "./event.ts";
import { copyOfSizes, type AcceptedLaunch } from "./executor.ts";
import { checkLaunch, sharedTotal, threadCount } from "./launch-limits.ts";
import { SoftKernel } from "./module.ts";
import { refuse } from "./refusal.ts";
import type { StreamQueue, Work } from "./scheduler.ts";

/** What is copied or filled in one go, some milliseconds; in between the event loop runs. */
const SLICE_BYTES = 16 * 1024 * 1024;

/** A queue of work. Copies and fills are done by the calling thread, launches by the workers. */
export class SoftStream implements Stream {
  readonly #core: ContextCore;
  readonly #queue: StreamQueue;

  constructor(core: ContextCore) {
    this.#core = core;
    this.#queue = core.scheduler.createStream();
  }

  copyIn = (target: DeviceRange, source: HostBuffer, sourceOffset: number): void => {
    this.#check("cuMemcpyHtoDAsync");
    const address = SoftBuffer.addressOf(target, this.#core);
    const bytes = hostPart(source, sourceOffset, target.bytes);
    this.#enqueueSlices(bytes.length, (start, end) => {
      this.#core.memory.bytes.set(bytes.subarray(start, end), address + start);
    });
  };

  copyOut = (target: HostBuffer, targetOffset: number, source: DeviceRange): void => {
    this.#check("cuMemcpyDtoHAsync");
    const address = SoftBuffer.addressOf(source, this.#core);
    const bytes = hostPart(target, targetOffset, source.bytes);
    this.#enqueueSlices(bytes.length, (start, end) => {
      bytes.set(this.#core.memory.bytes.subarray(address + start, address + end), start);
    });
  };

  fill = (target: DeviceRange, value: number): void => {
    this.#check("cuMemsetD8Async");
    const address = SoftBuffer.addressOf(target, this.#core);
    invariant(Number.isInteger(value) && value >= 0 && value <= 255, "a fill value is one byte");
    this.#enqueueSlices(target.bytes, (start, end) => {
      this.#core.memory.fill(address + start, end - start, value);
    });
  };

  launch = (launch: Launch): Result<void, GpuRefusal> => {
    this.#check("cuLaunchKernel");
    const accepted = acceptLaunch(this.#core, launch);
    if (!accepted.ok) return accepted;
    this.#enqueue({ kind: "launch", launch: accepted.value });
    return ok(undefined);
  };

  record = (event: GpuEvent): void => {
    this.#check("cuEventRecord");
    this.#enqueue({ kind: "record", reach: SoftEvent.record(event, this.#core) });
  };

  isIdle = (): boolean => {
    this.#check("cuStreamQuery");
    return this.#core.scheduler.isIdle(this.#queue);
  };

  close = (): void => {
    invariant(!this.#queue.isClosed, "a stream is closed once");
    this.#core.scheduler.closeStream(this.#queue);
  };

  #check(call: string): void {
    invariant(!this.#queue.isClosed, `${call} on a closed stream`);
    this.#core.check(call);
  }

  #enqueue(work: Work): void {
    this.#core.scheduler.enqueue(this.#queue, work);
  }

  /**
   * Queues work that main thread does by `move(start, end)`, for one slice of the bytes at a time.
   */
  #enqueueSlices(bytes: number, move: (start: number, end: number) => void): void {
    let start = 0;
    const step = (): boolean => {
      const end = Math.min(bytes, start + SLICE_BYTES);
      move(start, end);
      start = end;
      return start === bytes;
    };
    this.#enqueue({ kind: "host", step });
  }
}

/**
 * Checks a launch and copies all that it needs, so that the caller may change its own afterwards.
 */
function acceptLaunch(core: ContextCore, launch: Launch): Result<AcceptedLaunch, GpuRefusal> {
  const { kernel } = launch;
  invariant(kernel instanceof SoftKernel && kernel.module.core === core, "kernel of this context");
  invariant(!kernel.module.isUnloaded, `module ${kernel.module.name} is still loaded`);
  const { compiled, module } = kernel;
  const refused = checkLaunch(launch, compiled);
  if (refused !== null) return { ok: false, error: refused };
  const sharedBytes = sharedTotal(compiled, launch.sharedBytes);
  const layout = scratchLayout(compiled, threadCount(launch.block), sharedBytes);
  const scratch = core.scratch.areas(layout.bytes);
  if (scratch === null) {
    return refuse(
      "out_of_memory",
      "cuLaunchKernel",
      `kernel ${kernel.name} needs ${layout.bytes} bytes for each worker (the local memory of a ` +
        `block's threads, for the most part), and there is no address space left for that; use ` +
        `smaller blocks, fewer workers, or free memory`,
    );
  }
  return ok({
    kernel: kernel.pool,
    kernelName: kernel.name,
    fileName: module.name,
    grid: copyOfSizes(launch.grid),
    block: copyOfSizes(launch.block),
    sharedBytes,
    dynamicSharedBytes: launch.sharedBytes,
    parameters: launch.parameters.slice(),
    addressOffsets: kernel.addressOffsets,
    moduleData: module.dataAddress,
    scratch,
    layout,
  });
}
