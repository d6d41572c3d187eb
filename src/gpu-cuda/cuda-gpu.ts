import { err, ok, type NativeError, type Result } from "../base/mod.ts";
import type { Gpu, GpuRefusal, ReadSignatures } from "../gpu/mod.ts";
import { check, refusal } from "./check.ts";
import { openCudaContext } from "./cuda-context.ts";
import { readDevice } from "./device-info.ts";
import { CUDA_SUCCESS } from "./error-codes.ts";
import { openLibcuda, type Libcuda } from "./libcuda-ffi.ts";
import { mendOf } from "./mends.ts";
import { out, outInt } from "./out-values.ts";

export type CudaOptions = {
  /** Reads the kernels' signatures of a PTX text. */
  readonly readSignatures: ReadSignatures;
  /** The driver's library, instead of libcuda.so.1 where the system keeps it. */
  readonly libraryPath?: string;
};

const CUDA_ERROR_NO_DEVICE = 100;
const CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302;
const CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303;

/**
 * Opens the CUDA backend: loads libcuda.so.1 and starts the driver (about 100 ms). Refuses, with
 * the mend, where there is no library (`unavailable`), no driver that starts (`unavailable`) or
 * no device (`no_such_device`).
 *
 * @example
 * const gpu = openCudaGpu({ readSignatures });
 * if (!gpu.ok) log(gpu.error.message);
 */
export function openCudaGpu(options: CudaOptions): Result<Gpu, GpuRefusal> {
  const opened = openLibcuda(options.libraryPath);
  if (!opened.ok) return err(refuseLibrary(opened.error));
  const libcuda = opened.value;
  const started = startDriver(libcuda);
  if (!started.ok) return started;
  return ok({
    backend: "cuda",
    // Asked each time: a die that is bound to the driver later is to be seen.
    get deviceCount() {
      check("cuDeviceGetCount", libcuda.cuDeviceGetCount(out.int));
      return outInt();
    },
    deviceInfo: (ordinal) => {
      const device = readDevice(libcuda, ordinal);
      return device.ok ? ok(device.value.info) : device;
    },
    openContext: (ordinal) => {
      const device = readDevice(libcuda, ordinal);
      return device.ok ? openCudaContext(libcuda, device.value, options.readSignatures) : device;
    },
  });
}

function refuseLibrary({ code, message }: NativeError): GpuRefusal {
  if (code === "symbol_not_found") {
    const mend = "this libcuda is no driver from R470 (CUDA 11.4) on: install one";
    const number = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
    return refusal("dlsym", number, `${message}: ${mend}`, "unavailable");
  }
  const mend = "install the NVIDIA driver, or use the software GPU (--backend soft)";
  const number = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
  return refusal("dlopen", number, `no CUDA driver: ${message}; ${mend}`, "unavailable");
}

/** Starts the driver; the number of devices, at least one. Nothing can be lost yet. */
function startDriver(libcuda: Libcuda): Result<void, GpuRefusal> {
  const refuse = (call: string, code: number): Result<never, GpuRefusal> =>
    err(refusal(call, code, `the CUDA driver does not start: ${mendOf(code)}`));
  const started = libcuda.cuInit(0);
  if (started !== CUDA_SUCCESS) return refuse("cuInit", started);
  const counted = libcuda.cuDeviceGetCount(out.int);
  if (counted !== CUDA_SUCCESS) return refuse("cuDeviceGetCount", counted);
  return outInt() > 0 ? ok(undefined) : refuse("cuDeviceGetCount", CUDA_ERROR_NO_DEVICE);
}
