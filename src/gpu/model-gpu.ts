/**
 * A GPU in plain JavaScript that knows the catalogue's kernels by name: no hardware, no compiler
 * and no worker threads. It keeps CUDA's model honestly, so that what is wrong in the code above
 * shows: work is queued on a stream and done in order when it is reached, a copy takes its bytes
 * then and not before, memory is bounded, and after a lost context every later call of the process
 * fails. What a device does beside computing, how long it takes and how it fails, is its conduct,
 * which tests and the simulator bring.
 */
import { err, invariant, ok } from "../base/mod.ts";
import type { GpuRefusal } from "./error.ts";
import { GpuError } from "./error.ts";
import type {
  DeviceBuffer,
  DeviceInfo,
  Gpu,
  GpuContext,
  GpuEvent,
  GpuModule,
  Launch,
  Stream,
} from "./gpu.ts";
import { MODEL_KERNELS, runModelKernel, type ModelMemory } from "./model-kernels.ts";

/** Something that a stream does: one launch, one copy or fill of so many bytes, or a record. */
export type ModelWork =
  | { readonly kind: "launch"; readonly launch: Launch }
  | { readonly kind: "copy" | "fill"; readonly bytes: number }
  | { readonly kind: "record" };

/** A context as its device's conduct, and a checker, sees it. */
export type ModelContextView = {
  readonly device: DeviceInfo;
  /** Buffers by address, the latest last. */
  readonly memory: ReadonlyMap<bigint, Uint8Array>;
};

/** What a device does beside computing. Every part may throw GpuError: then the context is lost. */
export type ModelConduct = {
  /** Before each call that needs the device. */
  readonly touch: (call: string, context: ModelContextView) => void;
  /**
   * Takes what is queued; the function that it returns says, each time it is asked and once it is
   * this work's turn, whether it is done.
   */
  readonly begin: (work: ModelWork, context: ModelContextView) => () => boolean;
  /** Takes what a kernel has written to its first argument, and may spoil it. */
  readonly onOutput: (output: Uint8Array, launch: Launch) => void;
  /** Nanoseconds on the device's clock, asked as each record is passed. */
  readonly nowNs: () => number;
  /** Refuses a new context, e.g. for want of memory; null lets it be made. */
  readonly refuseContext: () => GpuRefusal | null;
  /** A context was made. */
  readonly onOpen: (context: ModelContextView) => void;
  /** Refuses memory; null leaves that to what is free. */
  readonly refuseMemory: (bytes: number, context: ModelContextView) => GpuRefusal | null;
  /** Refuses to page-lock memory of others. */
  readonly refuseAdoption: () => GpuRefusal | null;
  readonly onClose: (what: "context" | "buffer", context: ModelContextView) => void;
};

/** The conduct of a device that never fails and takes no time. */
export const CALM_CONDUCT: ModelConduct = {
  touch: () => undefined,
  begin: () => () => true,
  onOutput: () => undefined,
  nowNs: () => 0,
  refuseContext: () => null,
  onOpen: () => undefined,
  refuseMemory: () => null,
  refuseAdoption: () => null,
  onClose: () => undefined,
};

export type ModelDevice = { readonly info: DeviceInfo; readonly conduct: ModelConduct };

/** What a die of a model is, unless one says otherwise. */
export const MODEL_DEVICE: DeviceInfo = {
  backend: "soft",
  ordinal: 0,
  name: "model",
  memoryBytes: 2 ** 30,
  multiprocessors: 1,
  computeCapability: [3, 7],
  pciAddress: null,
  driver: "model",
  sharedBytesPerBlockMax: 49152,
  threadsPerBlockMax: 1024,
};

/** Why a whole process is of no use any more; shared by all contexts of one Gpu. */
type Poison = { error: GpuError | null };

type Queued = { readonly isDone: () => boolean; readonly run: () => void };

/** Where the first buffer lies: not at 0, so that no address is taken for null. */
const FIRST_ADDRESS = 0x1000n;

const ALIGNMENT_BYTES = 256;

class ModelContext implements ModelMemory {
  readonly device: DeviceInfo;
  readonly memory = new Map<bigint, Uint8Array>();
  readonly #conduct: ModelConduct;
  readonly #poison: Poison;
  readonly #queue: Queued[] = [];
  #usedBytes = 0;
  #nextAddress = FIRST_ADDRESS;

  constructor({ info, conduct }: ModelDevice, poison: Poison) {
    this.device = info;
    this.#conduct = conduct;
    this.#poison = poison;
  }

  /** Does something that needs the device; an error that loses the context is remembered. */
  guarded<T>(action: () => T): T {
    if (this.#poison.error !== null) throw this.#poison.error;
    try {
      return action();
    } catch (error) {
      if (error instanceof GpuError) this.#poison.error = error;
      throw error;
    }
  }

  call<T>(name: string, action: () => T): T {
    return this.guarded(() => {
      this.#conduct.touch(name, this);
      return action();
    });
  }

  allocate(bytes: number): ReturnType<GpuContext["allocate"]> {
    return this.call("cuMemAlloc_v2", () => {
      const refusal = this.#conduct.refuseMemory(bytes, this) ?? this.#fullRefusal(bytes);
      if (refusal !== null) return err(refusal);
      const address = this.#nextAddress;
      this.#nextAddress += BigInt(Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES);
      this.memory.set(address, new Uint8Array(bytes));
      this.#usedBytes += bytes;
      return ok({ address, bytes, free: () => this.#free(address) });
    });
  }

  /** Memory from `address` to the end of its buffer. */
  bytesAt(address: bigint): Uint8Array {
    for (const [start, bytes] of this.memory) {
      const offset = Number(address - start);
      if (offset >= 0 && offset < bytes.length) return bytes.subarray(offset);
    }
    throw new GpuError({
      ...{ code: 700, errorName: "CUDA_ERROR_ILLEGAL_ADDRESS", call: "cuLaunchKernel" },
      ...{ sticky: true, detail: `nothing lies at 0x${address.toString(16)}` },
    });
  }

  enqueue(work: ModelWork, run: () => void): void {
    this.#queue.push({ isDone: this.#conduct.begin(work, this), run });
  }

  launch(launch: Launch): void {
    this.enqueue({ kind: "launch", launch }, () => {
      this.#conduct.onOutput(runModelKernel(launch, this), launch);
    });
  }

  nowNs(): number {
    return this.#conduct.nowNs();
  }

  /** Does what is due of the queue; true where nothing is left of it. */
  advance(): boolean {
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) return true;
      if (!first.isDone()) return false;
      this.#queue.shift();
      first.run();
    }
  }

  freeBytes(): number {
    return this.device.memoryBytes - this.#usedBytes;
  }

  close(): void {
    this.#conduct.onClose("context", this);
  }

  #free(address: bigint): void {
    this.#usedBytes -= this.memory.get(address)?.length ?? 0;
    this.memory.delete(address);
    this.#conduct.onClose("buffer", this);
  }

  #fullRefusal(bytes: number): GpuRefusal | null {
    return bytes <= this.freeBytes()
      ? null
      : outOfMemory(`${bytes} bytes do not fit in the ${this.freeBytes()} that are free`);
  }
}

/** CUDA's refusal of memory. */
export const outOfMemory = (message: string): GpuRefusal => ({
  code: "out_of_memory",
  driverCode: 2,
  errorName: "CUDA_ERROR_OUT_OF_MEMORY",
  call: "cuMemAlloc_v2",
  message,
});

/** The bytes of a buffer, from an offset on. */
const bytesIn = (context: ModelContext, { address }: DeviceBuffer, offset: number, bytes: number) =>
  context.bytesAt(address).subarray(offset, offset + bytes);

function createStream(context: ModelContext, records: WeakMap<GpuEvent, EventState>): Stream {
  return {
    copyIn: ({ buffer, offset, bytes }, source, sourceOffset) =>
      context.call("cuMemcpyHtoDAsync_v2", () =>
        context.enqueue({ kind: "copy", bytes }, () => {
          const data = source.bytes.subarray(sourceOffset, sourceOffset + bytes);
          bytesIn(context, buffer, offset, bytes).set(data);
        }),
      ),
    copyOut: (target, targetOffset, { buffer, offset, bytes }) =>
      context.call("cuMemcpyDtoHAsync_v2", () =>
        context.enqueue({ kind: "copy", bytes }, () =>
          target.bytes.set(bytesIn(context, buffer, offset, bytes), targetOffset),
        ),
      ),
    fill: ({ buffer, offset, bytes }, value) =>
      context.call("cuMemsetD8Async", () =>
        context.enqueue({ kind: "fill", bytes }, () =>
          bytesIn(context, buffer, offset, bytes).fill(value),
        ),
      ),
    launch: (launch) =>
      context.call("cuLaunchKernel", () => {
        context.launch(launch);
        return ok(undefined);
      }),
    record: (event) =>
      context.call("cuEventRecord", () => {
        const state: EventState = { isReached: false, atNs: 0 };
        records.set(event, state);
        context.enqueue({ kind: "record" }, () => {
          state.isReached = true;
          state.atNs = context.nowNs();
        });
      }),
    isIdle: () => context.call("cuStreamQuery", () => context.advance()),
    close: () => undefined,
  };
}

type EventState = { isReached: boolean; atNs: number };

function createEvent(context: ModelContext, records: WeakMap<GpuEvent, EventState>): GpuEvent {
  const event: GpuEvent = {
    isReached: () =>
      context.call("cuEventQuery", () => {
        // An event that was never recorded counts as reached, as CUDA has it.
        const state = records.get(event);
        if (state?.isReached === false) context.advance();
        return state?.isReached ?? true;
      }),
    elapsedNs: (start) => (records.get(event)?.atNs ?? 0) - (records.get(start)?.atNs ?? 0),
    close: () => undefined,
  };
  return event;
}

function createModule(name: string): GpuModule {
  return {
    name,
    kernelNames: Object.keys(MODEL_KERNELS),
    kernel: (entry) => {
      const parameters = MODEL_KERNELS[entry];
      if (parameters === undefined) return err(noKernel(name, entry));
      const last = parameters.at(-1);
      const parameterBytes = last === undefined ? 0 : last.offset + last.bytes;
      return ok({ name: entry, parameters, parameterBytes });
    },
    unload: () => undefined,
  };
}

const noKernel = (name: string, entry: string): GpuRefusal => ({
  code: "kernel_not_found",
  driverCode: 500,
  errorName: "CUDA_ERROR_NOT_FOUND",
  call: "cuModuleGetFunction",
  message: `${name} has no entry ${entry}`,
});

function openContext(device: ModelDevice, poison: Poison): GpuContext {
  const context = new ModelContext(device, poison);
  device.conduct.onOpen(context);
  const records = new WeakMap<GpuEvent, EventState>();
  const { conduct, info } = device;
  return {
    device: info,
    loadModule: (_, name) => context.call("cuModuleLoadDataEx", () => ok(createModule(name))),
    allocate: (bytes) => context.allocate(bytes),
    allocateHost: (bytes) => ok({ bytes: new Uint8Array(bytes), free: () => undefined }),
    adoptHost: (bytes) => {
      const refusal = conduct.refuseAdoption();
      return refusal === null ? ok({ bytes, free: () => undefined }) : err(refusal);
    },
    createStream: () => createStream(context, records),
    createEvent: () => createEvent(context, records),
    memory: () =>
      context.call("cuMemGetInfo_v2", () => ({
        freeBytes: context.freeBytes(),
        totalBytes: info.memoryBytes,
      })),
    close: () => context.close(),
  };
}

/** One process's view of the devices that `devices()` counts, by ordinal, whenever it asks. */
export function createModelGpu(devices: () => readonly ModelDevice[]): Gpu {
  const poison: Poison = { error: null };
  const deviceOf = (ordinal: number): ModelDevice => {
    const device = devices()[ordinal];
    invariant(device !== undefined, `the driver counts a device ${ordinal}`);
    return device;
  };
  return {
    backend: "soft",
    get deviceCount() {
      return devices().length;
    },
    deviceInfo: (ordinal) => ok(deviceOf(ordinal).info),
    openContext: (ordinal) => {
      const device = deviceOf(ordinal);
      if (poison.error !== null) throw poison.error;
      const refusal = device.conduct.refuseContext();
      return refusal === null ? ok(openContext(device, poison)) : err(refusal);
    },
  };
}
