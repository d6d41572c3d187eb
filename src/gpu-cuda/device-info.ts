import { err, ok, type Result } from "../base/mod.ts";
import type { DeviceInfo, GpuRefusal } from "../gpu/mod.ts";
import { DEVICE_ATTRIBUTE } from "./abi.ts";
import { attempt, check, refusal } from "./check.ts";
import { CUDA_ERROR_INVALID_DEVICE } from "./error-codes.ts";
import type { Libcuda } from "./libcuda-ffi.ts";
import { out, outInt, outSize, textOf } from "./out-values.ts";

/** A device's facts, and its CUdevice. */
export type CudaDevice = { readonly device: number; readonly info: DeviceInfo };

/** Longer than any name the driver gives, which cuda.h leaves open. */
const NAME_BYTES = 256;

/** `dddddddd:bb:dd.f` and a NUL fit well. */
const PCI_ADDRESS_BYTES = 32;

/** Reads one device's facts. Refuses an ordinal that is not there. */
export function readDevice(libcuda: Libcuda, ordinal: number): Result<CudaDevice, GpuRefusal> {
  const explain = (): string => `there is no CUDA device ${ordinal}; see \`holdfast devices\``;
  // Checked here, since the FFI would silently cut a fraction off.
  if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal > 0x7fffffff) {
    return err(refusal("cuDeviceGet", CUDA_ERROR_INVALID_DEVICE, explain()));
  }
  const found = attempt("cuDeviceGet", libcuda.cuDeviceGet(out.int, ordinal), explain);
  if (!found.ok) return found;
  const device = outInt();
  return ok({ device, info: readInfo(libcuda, ordinal, device) });
}

function readInfo(libcuda: Libcuda, ordinal: number, device: number): DeviceInfo {
  const attribute = (which: keyof typeof DEVICE_ATTRIBUTE): number => {
    const code = libcuda.cuDeviceGetAttribute(out.int, DEVICE_ATTRIBUTE[which], device);
    check("cuDeviceGetAttribute", code);
    return outInt();
  };
  const name = new Uint8Array(NAME_BYTES);
  check("cuDeviceGetName", libcuda.cuDeviceGetName(name, NAME_BYTES, device));
  check("cuDeviceTotalMem_v2", libcuda.cuDeviceTotalMem_v2(out.long, device));
  const memoryBytes = outSize();
  check("cuDriverGetVersion", libcuda.cuDriverGetVersion(out.int));
  const version = outInt();
  return {
    backend: "cuda",
    ordinal,
    name: textOf(name),
    memoryBytes,
    multiprocessors: attribute("multiprocessorCount"),
    computeCapability: [attribute("computeCapabilityMajor"), attribute("computeCapabilityMinor")],
    pciAddress: readPciAddress(libcuda, device),
    driver: `CUDA ${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`,
    // Devices before Volta have no opt-in, and may say 0 for it.
    sharedBytesPerBlockMax: Math.max(
      attribute("maxSharedMemoryPerBlock"),
      attribute("maxSharedMemoryPerBlockOptin"),
    ),
    threadsPerBlockMax: attribute("maxThreadsPerBlock"),
  };
}

function readPciAddress(libcuda: Libcuda, device: number): string {
  const bytes = new Uint8Array(PCI_ADDRESS_BYTES);
  check("cuDeviceGetPCIBusId", libcuda.cuDeviceGetPCIBusId(bytes, PCI_ADDRESS_BYTES, device));
  // The driver writes capital hexadecimal digits, sysfs small ones.
  return textOf(bytes).toLowerCase();
}
