/**
 * The port: what every GPU backend offers, CUDA and the software GPU alike. It follows the CUDA
 * driver API's model (contexts, modules from PTX, streams, events), asynchronous and polled:
 * nothing here blocks for as long as a kernel runs, so the thread that drives a die can always
 * answer.
 *
 * Two failures, never mixed: a *refused* request comes back as a Result and harms nothing; a *lost*
 * context throws GpuError, from whichever call notices first. Letting something go (`free`,
 * `close`, `unload`) is no such call: on a lost or closed context it does nothing. Doing it twice
 * is a bug, except that a context may be closed again.
 *
 * One thread drives one Gpu. Sizes and offsets are bytes, as numbers below 2^53.
 */
import type { Result } from "../base/mod.ts";
import type { GpuRefusal } from "./error.ts";

/** Sizes in x, y and z. */
export type Dim3 = readonly [x: number, y: number, z: number];

export type BackendName = "cuda" | "soft";

/** What a device is, as its driver says. */
export type DeviceInfo = {
  readonly backend: BackendName;
  readonly ordinal: number;
  readonly name: string;
  readonly memoryBytes: number;
  readonly multiprocessors: number;
  /** e.g. [9, 0]; the software GPU names the newest architecture whose PTX it takes. */
  readonly computeCapability: readonly [major: number, minor: number];
  /** `0000:1b:00.0`, or null where the device is no PCI function. */
  readonly pciAddress: string | null;
  /** e.g. `CUDA 13.0` or `holdfast 0.1.0`. */
  readonly driver: string;
  readonly sharedBytesPerBlockMax: number;
  readonly threadsPerBlockMax: number;
};

/** A loaded backend. */
export type Gpu = {
  readonly backend: BackendName;
  /** What the driver counts now. */
  readonly deviceCount: number;
  /** Facts about one device; asks the driver, makes no context. */
  readonly deviceInfo: (ordinal: number) => Result<DeviceInfo, GpuRefusal>;
  /** Makes a context of its own on the device; several on one device are independent. */
  readonly openContext: (ordinal: number) => Result<GpuContext, GpuRefusal>;
};

/** A context: everything made from it dies with it. */
export type GpuContext = {
  readonly device: DeviceInfo;
  /** Loads PTX text. `name` is what messages call it, usually a file name. */
  readonly loadModule: (ptx: string, name: string) => Result<GpuModule, GpuRefusal>;
  readonly allocate: (bytes: number) => Result<DeviceBuffer, GpuRefusal>;
  /** Host memory that copies can read and write while JavaScript goes on (page-locked on CUDA). */
  readonly allocateHost: (bytes: number) => Result<HostBuffer, GpuRefusal>;
  /**
   * Memory of somebody else (a mapped file) as a host buffer, page-locked where it has to be. Its
   * bytes must stay where they are until it is freed, which gives back the locking and not the
   * bytes. No two adopted buffers may overlap. Refused where the driver cannot lock such memory:
   * then it must be copied through memory of `allocateHost`.
   */
  readonly adoptHost: (bytes: Uint8Array) => Result<HostBuffer, GpuRefusal>;
  readonly createStream: () => Stream;
  readonly createEvent: () => GpuEvent;
  readonly memory: () => { readonly freeBytes: number; readonly totalBytes: number };
  /** Destroys the context and all that is in it. Never called where a slot must stay mapped. */
  readonly close: () => void;
};

export type GpuModule = {
  readonly name: string;
  /** The entries (`.entry`) of the module, in the order of the text. */
  readonly kernelNames: readonly string[];
  readonly kernel: (name: string) => Result<GpuKernel, GpuRefusal>;
  readonly unload: () => void;
};

/** Where one parameter of a kernel lies in its parameter block. */
export type KernelParameter = {
  /** As PTX spells it, e.g. `u64`, `f32`, or `b8` for a struct or an array. */
  readonly type: string;
  readonly offset: number;
  readonly bytes: number;
};

export type GpuKernel = {
  readonly name: string;
  readonly parameters: readonly KernelParameter[];
  /** Bytes of the whole parameter block. */
  readonly parameterBytes: number;
};

/** Device memory. */
export type DeviceBuffer = {
  /** The device's own address, as a kernel sees it. */
  readonly address: bigint;
  readonly bytes: number;
  readonly free: () => void;
};

/** Host memory that does not move. */
export type HostBuffer = {
  readonly bytes: Uint8Array;
  readonly free: () => void;
};

/** A launch's shape and parameter block (see packParameters). */
export type Launch = {
  readonly kernel: GpuKernel;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Dynamic shared memory, on top of what the kernel declares. */
  readonly sharedBytes: number;
  /** Exactly the kernel's `parameterBytes`; `launch` copies them before it returns. */
  readonly parameters: Uint8Array;
};

/** A part of a buffer. */
export type DeviceRange = {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly bytes: number;
};

/** A queue of work that is done in order. */
export type Stream = {
  /** Copies `source` to the range; `source` must stay as it is until the stream has passed it. */
  readonly copyIn: (target: DeviceRange, source: HostBuffer, sourceOffset: number) => void;
  readonly copyOut: (target: HostBuffer, targetOffset: number, source: DeviceRange) => void;
  /** Sets every byte of the range to `value`. */
  readonly fill: (target: DeviceRange, value: number) => void;
  readonly launch: (launch: Launch) => Result<void, GpuRefusal>;
  readonly record: (event: GpuEvent) => void;
  /** True once everything queued so far is done. Throws GpuError when it was lost instead. */
  readonly isIdle: () => boolean;
  readonly close: () => void;
};

export type GpuEvent = {
  /** True once the stream has passed the record. Throws GpuError when the context was lost. */
  readonly isReached: () => boolean;
  /** Nanoseconds on the device's own clock between `start` and this; both must be reached. */
  readonly elapsedNs: (start: GpuEvent) => number;
  readonly close: () => void;
};
