/**
 * The part of the driver API that we use: symbols, signatures and numbers, as in cuda.h. Nothing
 * here runs. Names with `_v2` are what cuda.h's plain names stand for since CUDA 3.2 or 4.0; the
 * library exports them under these names, and all of them are in every driver from R470 (CUDA
 * 11.4) on.
 *
 * Handles (CUcontext, CUmodule, CUfunction, CUstream, CUevent) are pointers; CUdeviceptr is a
 * 64-bit number; CUdevice is an int. Every function returns a CUresult.
 */
import type { NativeSignature } from "../base/mod.ts";

const result = "int32";

/** Symbols that must be there. */
export const REQUIRED_SYMBOLS = {
  cuInit: { args: ["uint32"], result },
  /** (int *version): 1000 * major + 10 * minor. */
  cuDriverGetVersion: { args: ["pointer"], result },
  cuDeviceGetCount: { args: ["pointer"], result },
  /** (CUdevice *device, int ordinal) */
  cuDeviceGet: { args: ["pointer", "int32"], result },
  /** (char *name, int bytes, CUdevice) */
  cuDeviceGetName: { args: ["pointer", "int32", "int32"], result },
  /** (size_t *bytes, CUdevice) */
  cuDeviceTotalMem_v2: { args: ["pointer", "int32"], result },
  /** (int *value, CUdevice_attribute, CUdevice) */
  cuDeviceGetAttribute: { args: ["pointer", "int32", "int32"], result },
  /** (char *address, int bytes, CUdevice) */
  cuDeviceGetPCIBusId: { args: ["pointer", "int32", "int32"], result },
  /** (CUcontext *, unsigned flags, CUdevice) */
  cuCtxCreate_v2: { args: ["pointer", "uint32", "int32"], result },
  cuCtxDestroy_v2: { args: ["handle"], result },
  cuCtxSetCurrent: { args: ["handle"], result },
  /** (size_t *free, size_t *total) */
  cuMemGetInfo_v2: { args: ["pointer", "pointer"], result },
  /** (CUmodule *, const void *image, unsigned count, CUjit_option *, void **values) */
  cuModuleLoadDataEx: { args: ["pointer", "pointer", "uint32", "pointer", "pointer"], result },
  /** (CUfunction *, CUmodule, const char *name) */
  cuModuleGetFunction: { args: ["pointer", "handle", "string"], result },
  cuModuleUnload: { args: ["handle"], result },
  /** (int *value, CUfunction_attribute, CUfunction) */
  cuFuncGetAttribute: { args: ["pointer", "int32", "handle"], result },
  /** (CUfunction, CUfunction_attribute, int value) */
  cuFuncSetAttribute: { args: ["handle", "int32", "int32"], result },
  /** (CUdeviceptr *, size_t bytes) */
  cuMemAlloc_v2: { args: ["pointer", "uint64"], result },
  cuMemFree_v2: { args: ["uint64"], result },
  /** (void **, size_t bytes) */
  cuMemAllocHost_v2: { args: ["pointer", "uint64"], result },
  cuMemFreeHost: { args: ["handle"], result },
  /** (void *, size_t bytes, unsigned flags) */
  cuMemHostRegister_v2: { args: ["handle", "uint64", "uint32"], result },
  cuMemHostUnregister: { args: ["handle"], result },
  /** (CUdeviceptr target, const void *source, size_t bytes, CUstream) */
  cuMemcpyHtoDAsync_v2: { args: ["uint64", "handle", "uint64", "handle"], result },
  /** (void *target, CUdeviceptr source, size_t bytes, CUstream) */
  cuMemcpyDtoHAsync_v2: { args: ["handle", "uint64", "uint64", "handle"], result },
  /** (CUdeviceptr, unsigned char value, size_t count, CUstream): a char is passed as an int. */
  cuMemsetD8Async: { args: ["uint64", "uint32", "uint64", "handle"], result },
  /** (CUstream *, unsigned flags) */
  cuStreamCreate: { args: ["pointer", "uint32"], result },
  cuStreamDestroy_v2: { args: ["handle"], result },
  cuStreamQuery: { args: ["handle"], result },
  /** (CUevent *, unsigned flags) */
  cuEventCreate: { args: ["pointer", "uint32"], result },
  cuEventDestroy_v2: { args: ["handle"], result },
  /** (CUevent, CUstream) */
  cuEventRecord: { args: ["handle", "handle"], result },
  cuEventQuery: { args: ["handle"], result },
  /** (float *milliseconds, CUevent start, CUevent end) */
  cuEventElapsedTime: { args: ["pointer", "handle", "handle"], result },
  /** (CUfunction, grid x y z, block x y z, shared bytes, CUstream, void **arguments, void **) */
  cuLaunchKernel: {
    args: [
      "handle",
      ...(["uint32", "uint32", "uint32"] as const),
      ...(["uint32", "uint32", "uint32"] as const),
      "uint32",
      "handle",
      "pointer",
      "pointer",
    ],
    result,
  },
} as const satisfies Record<string, NativeSignature>;

/** Symbols of newer drivers, used where they are there. */
export const OPTIONAL_SYMBOLS = {
  /** CUDA 12.4. (CUfunction, size_t index, size_t *offset, size_t *bytes) */
  cuFuncGetParamInfo: { args: ["handle", "uint64", "pointer", "pointer"], result },
} as const satisfies Record<string, NativeSignature>;

/** CUdevice_attribute. */
export const DEVICE_ATTRIBUTE = {
  maxThreadsPerBlock: 1,
  maxSharedMemoryPerBlock: 8,
  multiprocessorCount: 16,
  computeCapabilityMajor: 75,
  computeCapabilityMinor: 76,
  maxSharedMemoryPerBlockOptin: 97,
} as const;

/** CUfunction_attribute. */
export const FUNCTION_ATTRIBUTE = {
  sharedSizeBytes: 1,
  maxDynamicSharedSizeBytes: 8,
} as const;

/** CUjit_option. */
export const JIT_OPTION = { errorLogBuffer: 5, errorLogBufferSizeBytes: 6 } as const;

/** CUctx_flags: wait for the device by sleeping, not by spinning, where a call does wait. */
export const CONTEXT_SCHED_BLOCKING_SYNC = 0x04;

/** CU_MEMHOSTREGISTER_*: page-locked for every context of the process. */
export const HOST_REGISTER_PORTABLE = 0x01;

/** CUstream_flags: no order against the default stream. */
export const STREAM_NON_BLOCKING = 0x1;

/** CUevent_flags: with a time. */
export const EVENT_DEFAULT = 0x0;

/** Shared memory a kernel may use, static and dynamic together, before it must ask for more. */
export const SHARED_BYTES_WITHOUT_ASKING = 48 * 1024;
