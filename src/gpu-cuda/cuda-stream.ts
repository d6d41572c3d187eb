import { err, invariant, type Result } from "../base/mod.ts";
import type { GpuEvent, GpuRefusal, Launch, Stream } from "../gpu/mod.ts";
import {
  EVENT_DEFAULT,
  FUNCTION_ATTRIBUTE,
  SHARED_BYTES_WITHOUT_ASKING,
  STREAM_NON_BLOCKING,
} from "./abi.ts";
import { attempt, check, lost, refusal } from "./check.ts";
import type { CudaModules, LoadedKernel } from "./cuda-module.ts";
import { once, type CudaScope } from "./cuda-scope.ts";
import type { DeviceMemory } from "./device-memory.ts";
import { CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_READY, CUDA_SUCCESS } from "./error-codes.ts";
import { pinnedAddress } from "./host-memory-ffi.ts";
import type { Libcuda } from "./libcuda-ffi.ts";
import { out, outFloat, outLong } from "./out-values.ts";

const NS_PER_MS = 1e6;

/** True when done, false while not; throws when it was lost. */
function isDone(call: string, code: number): boolean {
  if (code === CUDA_SUCCESS) return true;
  if (code === CUDA_ERROR_NOT_READY) return false;
  throw lost(call, code);
}

/** A context's events. */
export type CudaEvents = {
  readonly create: () => GpuEvent;
  /** The handle of a live event of this context. */
  readonly handleOf: (event: GpuEvent) => bigint;
};

export function openEvents(scope: CudaScope): CudaEvents {
  const handles = new WeakMap<GpuEvent, bigint>();
  const handleOf = (event: GpuEvent): bigint => {
    const handle = handles.get(event);
    invariant(handle !== undefined, "an event is open, and of this context");
    return handle;
  };
  const create = (): GpuEvent => {
    check("cuEventCreate", scope.activate().cuEventCreate(out.long, EVENT_DEFAULT));
    const handle = outLong();
    const release = once("an event", () => {
      handles.delete(event);
      scope.release("cuEventDestroy_v2", (libcuda) => libcuda.cuEventDestroy_v2(handle));
    });
    const event: GpuEvent = {
      isReached: () => isDone("cuEventQuery", scope.activate().cuEventQuery(handleOf(event))),
      elapsedNs: (start) => {
        const [from, to] = [handleOf(start), handleOf(event)];
        const code = scope.activate().cuEventElapsedTime(out.float, from, to);
        invariant(
          code !== CUDA_ERROR_NOT_READY,
          "both events are reached before they are compared",
        );
        check("cuEventElapsedTime", code);
        return Math.round(outFloat() * NS_PER_MS);
      },
      close: release.run,
    };
    handles.set(event, handle);
    return event;
  };
  return { create, handleOf };
}

/** What a stream works on. */
export type StreamParts = {
  readonly scope: CudaScope;
  readonly memory: DeviceMemory;
  readonly modules: CudaModules;
  readonly events: CudaEvents;
};

export function createCudaStream({ scope, memory, modules, events }: StreamParts): Stream {
  check("cuStreamCreate", scope.activate().cuStreamCreate(out.long, STREAM_NON_BLOCKING));
  const stream = outLong();
  const release = once("a stream", () => {
    scope.release("cuStreamDestroy_v2", (libcuda) => libcuda.cuStreamDestroy_v2(stream));
  });
  const activate = (): Libcuda => {
    invariant(!release.isDone(), "a closed stream is used no more");
    return scope.activate();
  };
  return {
    copyIn: (target, source, sourceOffset) => {
      const device = memory.addressOfRange(target);
      const host = pinnedAddress(source, sourceOffset, target.bytes);
      if (target.bytes === 0) return;
      const bytes = BigInt(target.bytes);
      check("cuMemcpyHtoDAsync_v2", activate().cuMemcpyHtoDAsync_v2(device, host, bytes, stream));
    },
    copyOut: (target, targetOffset, source) => {
      const device = memory.addressOfRange(source);
      const host = pinnedAddress(target, targetOffset, source.bytes);
      if (source.bytes === 0) return;
      const bytes = BigInt(source.bytes);
      check("cuMemcpyDtoHAsync_v2", activate().cuMemcpyDtoHAsync_v2(host, device, bytes, stream));
    },
    fill: (target, value) => {
      const device = memory.addressOfRange(target);
      invariant(Number.isInteger(value) && value >= 0 && value <= 255, "a fill value is a byte");
      if (target.bytes === 0) return;
      const bytes = BigInt(target.bytes);
      check("cuMemsetD8Async", activate().cuMemsetD8Async(device, value, bytes, stream));
    },
    launch: (launch) => launchOn(activate(), stream, launch, modules.loadedKernel(launch.kernel)),
    record: (event) => {
      check("cuEventRecord", activate().cuEventRecord(events.handleOf(event), stream));
    },
    isIdle: () => isDone("cuStreamQuery", activate().cuStreamQuery(stream)),
    close: release.run,
  };
}

const UINT32_MAX = 2 ** 32 - 1;

function launchOn(
  libcuda: Libcuda,
  stream: bigint,
  launch: Launch,
  kernel: LoadedKernel,
): Result<void, GpuRefusal> {
  const { grid, block, sharedBytes } = launch;
  const explain = (): string => explainLaunch(launch);
  // The driver knows its own limits, but the FFI would silently cut off what is no uint32.
  const isUint32 = (value: number): boolean =>
    Number.isInteger(value) && value >= 0 && value <= UINT32_MAX;
  if (![...grid, ...block, sharedBytes].every(isUint32)) {
    return err(refusal("cuLaunchKernel", CUDA_ERROR_INVALID_VALUE, explain()));
  }
  const allowed = allowShared(libcuda, kernel, sharedBytes, explain);
  if (!allowed.ok) return allowed;
  const parameters = kernel.parameters.fill(launch.parameters);
  const code = libcuda.cuLaunchKernel(
    kernel.function,
    ...grid,
    ...block,
    sharedBytes,
    stream,
    parameters,
    null,
  );
  return attempt("cuLaunchKernel", code, explain);
}

/** Beyond 48 KiB of shared memory a kernel must be told before it is launched. */
function allowShared(
  libcuda: Libcuda,
  kernel: LoadedKernel,
  sharedBytes: number,
  explain: () => string,
): Result<void, GpuRefusal> {
  const isWithin = sharedBytes + kernel.staticSharedBytes <= SHARED_BYTES_WITHOUT_ASKING;
  if (isWithin || sharedBytes <= kernel.allowedSharedBytes) return { ok: true, value: undefined };
  const attribute = FUNCTION_ATTRIBUTE.maxDynamicSharedSizeBytes;
  // A C int: what is larger is refused like what the device does not have.
  const bytes = Math.min(sharedBytes, 0x7fffffff);
  const code = libcuda.cuFuncSetAttribute(kernel.function, attribute, bytes);
  const allowed = attempt("cuFuncSetAttribute", code, explain);
  if (allowed.ok) kernel.allowedSharedBytes = sharedBytes;
  return allowed;
}

function explainLaunch({ kernel, grid, block, sharedBytes }: Launch): string {
  const shape = `grid ${grid.join("x")}, block ${block.join("x")}, ${sharedBytes} bytes shared`;
  return `${kernel.name} cannot be launched with ${shape}; see the limits of the device`;
}
