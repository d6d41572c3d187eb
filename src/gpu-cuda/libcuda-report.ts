/**
 * What becomes of loading libcuda and starting it, in plain values that fit a message between
 * processes: the doctor asks in a child, since a driver that is broken can hang or crash its
 * caller.
 */
import { readFileSync } from "node:fs";
import { DEVICE_ATTRIBUTE } from "./abi.ts";
import { CUDA_SUCCESS } from "./error-codes.ts";
import { openLibcuda, type Libcuda } from "./libcuda-ffi.ts";
import { out, outInt, textOf } from "./out-values.ts";

/** A device as the driver counts it. */
export type ReportedDevice = {
  readonly ordinal: number;
  readonly name: string;
  /** As the driver writes it. */
  readonly pciAddress: string;
  readonly computeCapability: readonly [number, number];
};

export type LibcudaReport =
  /** There is none, or it cannot be loaded; the loader's own words. */
  | { readonly state: "not_loaded"; readonly message: string }
  /** It lacks a symbol that drivers since R470 have. */
  | { readonly state: "incomplete"; readonly message: string }
  | {
      readonly state: "loaded";
      /** The file that was loaded, e.g. `/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06`. */
      readonly path: string;
      /** 1000 * major + 10 * minor; null where it would not say. */
      readonly cudaVersion: number | null;
      /**
       * What cuInit gave: a CUresult. Null where it was not called; but a library that gave
       * CUDA_ERROR_STUB_LIBRARY to the call that was made gives it to every call.
       */
      readonly initCode: number | null;
      /** None where it did not start, or was not to. */
      readonly devices: readonly ReportedDevice[];
    };

/** Devices that are listed; no machine has more. */
const DEVICES_MAX = 64;

const NAME_BYTES = 256;

/** CUresult: the toolkit's stub answers every call with it. */
export const CUDA_ERROR_STUB_LIBRARY = 34;

/**
 * Loads libcuda, starts it (100 ms to seconds) and lists its devices; makes no context. To start it
 * wakes and opens every die that the driver has, and may load the driver.
 */
export function reportLibcuda(libraryPath?: string): LibcudaReport {
  return reportOf(libraryPath, (libcuda) => libcuda.cuInit(0));
}

/** Loads libcuda and asks for its version, which touches neither a die nor the kernel's module. */
export function reportLibcudaFile(libraryPath?: string): LibcudaReport {
  return reportOf(libraryPath, (libcuda) => {
    const code = libcuda.cuDriverGetVersion(out.int);
    return code === CUDA_ERROR_STUB_LIBRARY ? code : null;
  });
}

function reportOf(
  libraryPath: string | undefined,
  start: (libcuda: Libcuda) => number | null,
): LibcudaReport {
  const opened = openLibcuda(libraryPath);
  if (!opened.ok) {
    const { code, message } = opened.error;
    return { state: code === "symbol_not_found" ? "incomplete" : "not_loaded", message };
  }
  const libcuda = opened.value;
  const initCode = start(libcuda);
  const isVersionTold = libcuda.cuDriverGetVersion(out.int) === CUDA_SUCCESS;
  return {
    state: "loaded",
    path: mappedPath() ?? libcuda.libraryPath,
    cudaVersion: isVersionTold ? outInt() : null,
    initCode,
    devices: initCode === CUDA_SUCCESS ? devicesOf(libcuda) : [],
  };
}

function devicesOf(libcuda: Libcuda): readonly ReportedDevice[] {
  if (libcuda.cuDeviceGetCount(out.int) !== CUDA_SUCCESS) return [];
  const count = Math.min(outInt(), DEVICES_MAX);
  return Array.from({ length: count }, (_, ordinal) => deviceOf(libcuda, ordinal));
}

function deviceOf(libcuda: Libcuda, ordinal: number): ReportedDevice {
  const device = libcuda.cuDeviceGet(out.int, ordinal) === CUDA_SUCCESS ? outInt() : ordinal;
  const attribute = (which: keyof typeof DEVICE_ATTRIBUTE): number => {
    const code = libcuda.cuDeviceGetAttribute(out.int, DEVICE_ATTRIBUTE[which], device);
    return code === CUDA_SUCCESS ? outInt() : 0;
  };
  const name = new Uint8Array(NAME_BYTES);
  const address = new Uint8Array(NAME_BYTES);
  libcuda.cuDeviceGetName(name, NAME_BYTES, device);
  libcuda.cuDeviceGetPCIBusId(address, NAME_BYTES, device);
  return {
    ordinal,
    name: textOf(name),
    pciAddress: textOf(address),
    computeCapability: [attribute("computeCapabilityMajor"), attribute("computeCapabilityMinor")],
  };
}

/** Which file it is, with its version in its name, that the loader has put into this process. */
function mappedPath(): string | null {
  try {
    const maps = readFileSync("/proc/self/maps", "utf8");
    return /\s(\/\S*libcuda\.so\S*)$/m.exec(maps)?.[1] ?? null;
  } catch {
    return null;
  }
}
