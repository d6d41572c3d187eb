import { ok, type Result } from "../base/mod.ts";
import type {
  DeviceBuffer,
  DeviceInfo,
  GpuContext,
  GpuEvent,
  GpuModule,
  GpuRefusal,
  HostBuffer,
  Stream,
} from "../gpu/mod.ts";
import { SoftBuffer, SoftHostBuffer } from "./buffer.ts";
import type { Compiler } from "./compiler.ts";
import type { ContextCore } from "./context-core.ts";
import { SoftEvent } from "./event.ts";
import { SoftModule } from "./module.ts";
import { refusal, refuse } from "./refusal.ts";
import { SoftStream } from "./stream.ts";

/** A context: what is made here keeps to `core`, and goes when it is closed. */
export class SoftContext implements GpuContext {
  readonly device: DeviceInfo;
  readonly #core: ContextCore;
  readonly #compiler: Compiler;

  constructor(device: DeviceInfo, core: ContextCore, compiler: Compiler) {
    this.device = device;
    this.#core = core;
    this.#compiler = compiler;
  }

  loadModule = (ptx: string, name: string): Result<GpuModule, GpuRefusal> => {
    this.#core.check("cuModuleLoadDataEx");
    const program = this.#compiler.load(ptx, name);
    return program.ok ? SoftModule.load(this.#core, name, program.value) : program;
  };

  allocate = (bytes: number): Result<DeviceBuffer, GpuRefusal> => {
    const call = "cuMemAlloc";
    this.#core.check(call);
    const invalid = checkSize(call, bytes);
    if (invalid !== null) return { ok: false, error: invalid };
    const allocation = this.#core.allocate(bytes);
    if (allocation !== null) return ok(new SoftBuffer(this.#core, allocation));
    const { freeBytes, totalBytes, memory } = this.#core;
    const pieceBytes = Math.min(freeBytes, memory.largestFreeBytes());
    const message =
      `${bytes} bytes are not free: of the device's ${totalBytes} bytes ${freeBytes} are, ` +
      `in one piece ${pieceBytes}; free buffers or give the device more memory`;
    return refuse("out_of_memory", call, message);
  };

  allocateHost = (bytes: number): Result<HostBuffer, GpuRefusal> => {
    const call = "cuMemAllocHost";
    this.#core.check(call);
    const invalid = checkSize(call, bytes);
    if (invalid !== null) return { ok: false, error: invalid };
    try {
      return ok(new SoftHostBuffer(new Uint8Array(bytes)));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return refuse("out_of_memory", call, `${bytes} bytes of host memory: ${error.message}`);
    }
  };

  /** Nothing need be locked: copies are the processor's own. */
  adoptHost = (bytes: Uint8Array): Result<HostBuffer, GpuRefusal> => {
    const call = "cuMemHostRegister";
    this.#core.check(call);
    const invalid = checkSize(call, bytes.length);
    return invalid === null ? ok(new SoftHostBuffer(bytes)) : { ok: false, error: invalid };
  };

  createStream = (): Stream => {
    this.#core.check("cuStreamCreate");
    return new SoftStream(this.#core);
  };

  createEvent = (): GpuEvent => {
    this.#core.check("cuEventCreate");
    return new SoftEvent(this.#core);
  };

  memory = (): { readonly freeBytes: number; readonly totalBytes: number } => {
    this.#core.check("cuMemGetInfo");
    return { freeBytes: this.#core.freeBytes, totalBytes: this.#core.totalBytes };
  };

  close = (): void => {
    this.#core.close();
  };
}

function checkSize(call: string, bytes: number): GpuRefusal | null {
  if (Number.isSafeInteger(bytes) && bytes >= 1) return null;
  return refusal("invalid_value", call, `${bytes} bytes cannot be allocated; ask for 1 or more`);
}
