import { availableParallelism } from "node:os";
import { invariant, ok, type Result } from "../base/mod.ts";
import type { DeviceInfo, Gpu, GpuContext, GpuRefusal } from "../gpu/mod.ts";
import { SHARED_BYTES_PER_BLOCK_MAX, THREADS_PER_BLOCK_MAX } from "../ptx/mod.ts";
import { MEMORY_BYTES_DEFAULT, MEMORY_BYTES_MAX } from "./address-map.ts";
import type { Compiler } from "./compiler.ts";
import { SoftContext } from "./context.ts";
import { ContextCore } from "./context-core.ts";
import { WORKERS_MAX } from "./control-block.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { MemoryShelf } from "./memory-shelf.ts";
import { refuse } from "./refusal.ts";
import { HOLDFAST_VERSION } from "./version.ts";
import type { InjectedFault } from "./wrong-element.ts";

/** The owner numbers dies from 0 to 31. */
const DEVICES_MAX = 32;

export type SoftGpuOptions = {
  /** How many devices to offer, 1 to 32. They share nothing but the processor. */
  readonly devices: number;
  /** Memory of each device, by default 2 GiB and at most 3.5 GiB; only what is used is taken. */
  readonly memoryBytes?: number;
  /** Worker threads of each context, 1 to 256; by default as many as the processor runs at once. */
  readonly workers?: number;
  /** Makes every device compute wrongly, for those who test that it is found; null: none does. */
  readonly fault?: InjectedFault | null;
};

/**
 * A software GPU whose PTX goes through `compiler`. Options out of range are a bug of the caller,
 * who checks what a user has typed.
 */
export function softGpu(options: SoftGpuOptions, compiler: Compiler): Gpu {
  const {
    devices,
    memoryBytes = MEMORY_BYTES_DEFAULT,
    workers = Math.min(availableParallelism(), WORKERS_MAX),
    fault = null,
  } = options;
  checkOption("devices", devices, DEVICES_MAX);
  checkOption("memoryBytes", memoryBytes, MEMORY_BYTES_MAX);
  checkOption("workers", workers, WORKERS_MAX);
  const all = Array.from({ length: devices }, () => ({
    budget: new MemoryBudget(memoryBytes),
    shelf: new MemoryShelf(),
    fault,
  }));

  const infoOf = (ordinal: number): DeviceInfo => ({
    backend: "soft",
    ordinal,
    name: `Holdfast software GPU (${workers} ${workers === 1 ? "worker" : "workers"})`,
    memoryBytes,
    multiprocessors: workers,
    computeCapability: compiler.computeCapability,
    pciAddress: null,
    driver: `holdfast ${HOLDFAST_VERSION}`,
    sharedBytesPerBlockMax: SHARED_BYTES_PER_BLOCK_MAX,
    threadsPerBlockMax: THREADS_PER_BLOCK_MAX,
  });

  const missing = (ordinal: number): string =>
    `there is no device ${ordinal}; the software GPU has ${devices}, numbered from 0`;

  return {
    backend: "soft",
    deviceCount: devices,
    deviceInfo: (ordinal): Result<DeviceInfo, GpuRefusal> =>
      all[ordinal] === undefined
        ? refuse("no_such_device", "cuDeviceGet", missing(ordinal))
        : ok(infoOf(ordinal)),
    openContext: (ordinal): Result<GpuContext, GpuRefusal> => {
      const device = all[ordinal];
      if (device === undefined) return refuse("no_such_device", "cuCtxCreate", missing(ordinal));
      try {
        const core = new ContextCore(device, workers);
        return ok(new SoftContext(infoOf(ordinal), core, compiler));
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        const message = `no address space left for another context (${error.message}); close some`;
        return refuse("out_of_memory", "cuCtxCreate", message);
      }
    },
  };
}

function checkOption(name: string, value: number, max: number): void {
  const isInRange = Number.isSafeInteger(value) && value >= 1 && value <= max;
  invariant(isInRange, `${name} is ${value}; it must be a whole number from 1 to ${max}`);
}
