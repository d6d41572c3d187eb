/** What the cases work with: a context, and everything made from it during one case. */
import assert from "node:assert/strict";
import { type Result } from "../../base/mod.ts";
import type { CatalogueKernel } from "../catalogue.ts";
import { launchShape } from "../catalogue.ts";
import type {
  DeviceBuffer,
  DeviceRange,
  Dim3,
  Gpu,
  GpuContext,
  GpuEvent,
  GpuModule,
  HostBuffer,
  Stream,
} from "../gpu.ts";
import { packParameters, type KernelArgument } from "../parameters.ts";
import { waitUntilIdle } from "../wait.ts";

/** What all cases of one run share. */
export type Session = {
  readonly gpu: Gpu;
  readonly context: GpuContext;
  readonly kernelsPtx: string;
};

/** One case: a sentence that says what must hold, and the check. */
export type ConformanceCase = {
  readonly name: string;
  readonly run: (bench: Bench) => Promise<void> | void;
};

/** A case of the suite. */
export const conformanceCase = (name: string, run: ConformanceCase["run"]): ConformanceCase => ({
  name,
  run,
});

/** How long any wait of the suite may take before the case fails instead of hanging. */
const WAIT_TIMEOUT_MS = 60_000;

/** The value, or a failed test with the refusal's own message. */
export function expectOk<T>(result: Result<T, { readonly message: string }>): T {
  assert.ok(result.ok, result.ok ? "" : `refused: ${result.error.message}`);
  return result.value;
}

/** The whole of a buffer. */
export const whole = (buffer: DeviceBuffer): DeviceRange => ({
  buffer,
  offset: 0,
  bytes: buffer.bytes,
});

type LaunchOptions = {
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly sharedBytes?: number;
  readonly stream?: Stream;
};

/** A context's things for one case; `release` gives all of them back. */
export class Bench {
  readonly session: Session;
  readonly context: GpuContext;
  readonly stream: Stream;
  readonly #releases: (() => void)[] = [];

  constructor(session: Session, context: GpuContext = session.context) {
    this.session = session;
    this.context = context;
    this.stream = this.createStream();
  }

  /** Gives everything back, newest first; harmless when nothing is left. */
  release(): void {
    for (const release of this.#releases.splice(0).reverse()) release();
  }

  /** A context of its own on device 0, closed with the bench. */
  openContext(): GpuContext {
    const context = expectOk(this.session.gpu.openContext(0));
    this.#releases.push(() => {
      context.close();
    });
    return context;
  }

  /** A bench in another context, released before this one. */
  openBench(context: GpuContext): Bench {
    const bench = new Bench(this.session, context);
    this.#releases.push(() => {
      bench.release();
    });
    return bench;
  }

  createStream(): Stream {
    const stream = this.context.createStream();
    this.#releases.push(() => {
      stream.close();
    });
    return stream;
  }

  createEvent(): GpuEvent {
    const event = this.context.createEvent();
    this.#releases.push(() => {
      event.close();
    });
    return event;
  }

  device(bytes: number): DeviceBuffer {
    const buffer = expectOk(this.context.allocate(bytes));
    this.#releases.push(() => {
      buffer.free();
    });
    return buffer;
  }

  host(bytes: number): HostBuffer {
    const buffer = expectOk(this.context.allocateHost(bytes));
    this.#releases.push(() => {
      buffer.free();
    });
    return buffer;
  }

  load(ptx: string, name: string): GpuModule {
    const module = expectOk(this.context.loadModule(ptx, name));
    this.#releases.push(() => {
      module.unload();
    });
    return module;
  }

  /** Device memory that holds `values` and is followed by nothing. */
  async upload(values: ArrayBufferView): Promise<DeviceBuffer> {
    const buffer = this.device(values.byteLength);
    const host = this.host(values.byteLength);
    host.bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    this.stream.copyIn(whole(buffer), host, 0);
    await this.settle();
    return buffer;
  }

  /** The bytes of a range, as an array of its own. */
  async download(source: DeviceRange): Promise<Uint8Array> {
    const host = this.host(source.bytes);
    this.stream.copyOut(host, 0, source);
    await this.settle();
    return host.bytes.slice();
  }

  /** Waits for a stream of this bench. */
  async settle(stream: Stream = this.stream): Promise<void> {
    assert.equal(await waitUntilIdle(stream, { timeoutMs: WAIT_TIMEOUT_MS }), "done");
  }

  /** Queues a launch; a refusal fails the test. */
  launch(
    module: GpuModule,
    name: string,
    args: readonly KernelArgument[],
    options: LaunchOptions,
  ): void {
    const { grid, block, sharedBytes = 0, stream = this.stream } = options;
    const kernel = expectOk(module.kernel(name));
    const parameters = expectOk(packParameters(kernel, args));
    expectOk(stream.launch({ kernel, grid, block, sharedBytes, parameters }));
  }

  /** Queues a catalogue kernel over `elements` elements. */
  launchCatalogue(
    module: GpuModule,
    kernel: CatalogueKernel,
    elements: number,
    args: readonly KernelArgument[],
  ): void {
    this.launch(module, kernel.entry, args, launchShape(kernel, elements));
  }
}

/** Views on bytes that begin an array of their own. */
export const asF32 = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
export const asU32 = (bytes: Uint8Array): Uint32Array =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
export const asF64 = (bytes: Uint8Array): Float64Array =>
  new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
