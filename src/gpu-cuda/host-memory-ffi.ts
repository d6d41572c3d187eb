/** Page-locked host memory, seen as bytes in place. */
import {
  addressOf,
  err,
  invariant,
  NATIVE_VIEW_BYTES_MAX,
  ok,
  viewOf,
  type Result,
} from "../base/mod.ts";
import type { GpuRefusal, HostBuffer } from "../gpu/mod.ts";
import { HOST_REGISTER_PORTABLE } from "./abi.ts";
import { attempt, lost, refusal } from "./check.ts";
import { once, type CudaScope } from "./cuda-scope.ts";
import { CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS, STICKY_CODES } from "./error-codes.ts";
import { out, outLong } from "./out-values.ts";

type Pinned = { readonly address: bigint; readonly isFree: () => boolean };

/** Every buffer made here. Any context can copy from any: addresses are unified. */
const pinnedBuffers = new WeakMap<HostBuffer, Pinned>();

/** Allocates page-locked memory of 1 byte to 1 GiB; its bytes are as the driver left them. */
export function allocatePinned(scope: CudaScope, bytes: number): Result<HostBuffer, GpuRefusal> {
  const call = "cuMemAllocHost_v2";
  if (!Number.isInteger(bytes) || bytes < 1 || bytes > NATIVE_VIEW_BYTES_MAX) {
    const message = `host memory of ${bytes} bytes: ask for 1 to ${NATIVE_VIEW_BYTES_MAX}`;
    return err(refusal(call, CUDA_ERROR_INVALID_VALUE, message));
  }
  const code = scope.activate().cuMemAllocHost_v2(out.long, BigInt(bytes));
  const explain = (): string =>
    `${bytes} bytes of page-locked host memory cannot be had; ask for less, or raise the limits`;
  const allocated = attempt(call, code, explain);
  if (!allocated.ok) return allocated;
  const address = outLong();
  const release = once("a host buffer", () => {
    scope.release("cuMemFreeHost", (libcuda) => libcuda.cuMemFreeHost(address));
  });
  const buffer: HostBuffer = { bytes: viewOf(address, bytes), free: release.run };
  pinnedBuffers.set(buffer, { address, isFree: () => release.isDone() || scope.isClosed() });
  return ok(buffer);
}

/**
 * Page-locks memory of others until it is freed. Whatever the driver says to it, short of a lost
 * context, is a refusal: memory of some files, and of some processes, cannot be locked.
 */
export function adoptPinned(scope: CudaScope, bytes: Uint8Array): Result<HostBuffer, GpuRefusal> {
  const call = "cuMemHostRegister_v2";
  if (bytes.length < 1) {
    return err(refusal(call, CUDA_ERROR_INVALID_VALUE, "no bytes: there is nothing to page-lock"));
  }
  const address = addressOf(bytes);
  const libcuda = scope.activate();
  const code = libcuda.cuMemHostRegister_v2(address, BigInt(bytes.length), HOST_REGISTER_PORTABLE);
  if (STICKY_CODES.has(code)) throw lost(call, code);
  if (code !== CUDA_SUCCESS) {
    const mend = "raise the limit of locked memory (ulimit -l), or go on without";
    return err(refusal(call, code, `${bytes.length} bytes cannot be page-locked; ${mend}`));
  }
  const release = once("an adopted host buffer", () => {
    scope.release("cuMemHostUnregister", (driver) => driver.cuMemHostUnregister(address));
  });
  const buffer: HostBuffer = { bytes, free: release.run };
  pinnedBuffers.set(buffer, { address, isFree: () => release.isDone() || scope.isClosed() });
  return ok(buffer);
}

/** The address of a part of a buffer. The part must lie in it, and the buffer be alive. */
export function pinnedAddress(buffer: HostBuffer, offset: number, bytes: number): bigint {
  const pinned = pinnedBuffers.get(buffer);
  invariant(pinned !== undefined, "a host buffer comes from a CUDA context");
  invariant(!pinned.isFree(), "a freed host buffer is used no more");
  const isInside = Number.isInteger(offset) && offset >= 0 && offset + bytes <= buffer.bytes.length;
  invariant(isInside, `${bytes} bytes at ${offset} lie in a host buffer of ${buffer.bytes.length}`);
  return pinned.address + BigInt(offset);
}
