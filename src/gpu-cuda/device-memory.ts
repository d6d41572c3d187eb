import { err, invariant, ok, type Result } from "../base/mod.ts";
import type { DeviceBuffer, DeviceRange, GpuRefusal } from "../gpu/mod.ts";
import { attempt, check, refusal } from "./check.ts";
import { once, type CudaScope } from "./cuda-scope.ts";
import { CUDA_ERROR_INVALID_VALUE } from "./error-codes.ts";
import { out, outLong, outOtherSize, outSize } from "./out-values.ts";

/** A context's device memory. */
export type DeviceMemory = {
  readonly allocate: (bytes: number) => Result<DeviceBuffer, GpuRefusal>;
  readonly memory: () => { readonly freeBytes: number; readonly totalBytes: number };
  /** The address of a range. It must lie in a live buffer of this context. */
  readonly addressOfRange: (range: DeviceRange) => bigint;
};

export function openDeviceMemory(scope: CudaScope): DeviceMemory {
  const live = new WeakSet<DeviceBuffer>();
  const memory = (): { freeBytes: number; totalBytes: number } => {
    check("cuMemGetInfo_v2", scope.activate().cuMemGetInfo_v2(out.long, out.otherLong));
    return { freeBytes: outSize(), totalBytes: outOtherSize() };
  };

  const allocate: DeviceMemory["allocate"] = (bytes) => {
    const call = "cuMemAlloc_v2";
    if (!Number.isSafeInteger(bytes) || bytes < 1) {
      const message = `device memory of ${bytes} bytes: ask for 1 or more`;
      return err(refusal(call, CUDA_ERROR_INVALID_VALUE, message));
    }
    const allocated = attempt(call, scope.activate().cuMemAlloc_v2(out.long, BigInt(bytes)), () => {
      const { freeBytes, totalBytes } = memory();
      const room = `${freeBytes} of ${totalBytes} are free`;
      return `${bytes} bytes of device memory cannot be had; ${room}`;
    });
    if (!allocated.ok) return allocated;
    const address = outLong();
    const release = once("a device buffer", () => {
      live.delete(buffer);
      scope.release("cuMemFree_v2", (libcuda) => libcuda.cuMemFree_v2(address));
    });
    const buffer: DeviceBuffer = { address, bytes, free: release.run };
    live.add(buffer);
    return ok(buffer);
  };

  const addressOfRange: DeviceMemory["addressOfRange"] = ({ buffer, offset, bytes }) => {
    invariant(live.has(buffer), "a device buffer is alive, and of this context");
    const isInside =
      Number.isSafeInteger(offset) &&
      Number.isSafeInteger(bytes) &&
      offset >= 0 &&
      bytes >= 0 &&
      offset + bytes <= buffer.bytes;
    invariant(isInside, `${bytes} bytes at ${offset} lie in a device buffer of ${buffer.bytes}`);
    return buffer.address + BigInt(offset);
  };

  return { allocate, memory, addressOfRange };
}
