import { ok, type Result } from "../base/mod.ts";
import type { GpuContext, GpuRefusal, ReadSignatures } from "../gpu/mod.ts";
import { CONTEXT_SCHED_BLOCKING_SYNC } from "./abi.ts";
import { attempt } from "./check.ts";
import { openModules } from "./cuda-module.ts";
import { openScope } from "./cuda-scope.ts";
import { createCudaStream, openEvents } from "./cuda-stream.ts";
import type { CudaDevice } from "./device-info.ts";
import { openDeviceMemory } from "./device-memory.ts";
import { adoptPinned, allocatePinned } from "./host-memory-ffi.ts";
import type { Libcuda } from "./libcuda-ffi.ts";
import { mendOf } from "./mends.ts";
import { out, outLong } from "./out-values.ts";

/** Makes a context of its own on the device, current on this thread. Takes about 100 ms. */
export function openCudaContext(
  libcuda: Libcuda,
  { device, info }: CudaDevice,
  readSignatures: ReadSignatures,
): Result<GpuContext, GpuRefusal> {
  const code = libcuda.cuCtxCreate_v2(out.long, CONTEXT_SCHED_BLOCKING_SYNC, device);
  const explain = (): string =>
    `no context on device ${info.ordinal} (${info.name}): ${mendOf(code)}`;
  const created = attempt("cuCtxCreate_v2", code, explain);
  if (!created.ok) return created;
  const scope = openScope(libcuda, outLong());
  const memory = openDeviceMemory(scope);
  const modules = openModules(scope, readSignatures);
  const events = openEvents(scope);
  return ok({
    device: info,
    loadModule: modules.load,
    allocate: memory.allocate,
    allocateHost: (bytes) => allocatePinned(scope, bytes),
    adoptHost: (bytes) => adoptPinned(scope, bytes),
    createStream: () => createCudaStream({ scope, memory, modules, events }),
    createEvent: events.create,
    memory: memory.memory,
    close: scope.close,
  });
}
