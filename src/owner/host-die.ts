/** A die inside its die host: its context, and what stays resident in it between jobs. */
import { err, invariant, ok, type EventClock, type Result } from "../base/mod.ts";
import {
  addOnes,
  catalogueKernel,
  compareU32,
  PROBE_THREADS,
  packParameters,
  referenceProbe,
  SEED_PATTERN_VALUE_MAX,
  seedValue,
  waitUntilIdle,
  type DeviceBuffer,
  type GpuContext,
  type GpuEvent,
  type GpuModule,
  type GpuRefusal,
  type HostBuffer,
  type Stream,
} from "../gpu/mod.ts";
import { BufferShelf } from "./buffer-shelf.ts";
import type { Collected } from "./frames.ts";
import { download, type Carrier } from "./host-bytes.ts";
import { refusalCause } from "./host-failure.ts";
import { MappedFiles } from "./host-mapped.ts";
import { PinnedArena } from "./host-memory.ts";
import { ModuleCache } from "./host-modules.ts";
import type { JobCause, ModuleReference } from "./job.ts";
import type { DieTeardown } from "./reports.ts";

/**
 * How long the probe kernel may take, in milliseconds: it writes 32 words. A die's first one brings
 * the software GPU's workers up and compiles, which takes 7 s where the processor is emulated, and
 * several times that where it is shared as well.
 */
const PROBE_TIMEOUT_MS = 20_000;
const FIRST_PROBE_TIMEOUT_MS = 50_000;

/** Unwraps what cannot be refused unless the die is full of our own few buffers. */
function granted<T>(result: Result<T, GpuRefusal>): Result<T, JobCause> {
  return result.ok ? result : err(refusalCause(result.error));
}

export type HostDieOptions = {
  readonly clock: EventClock;
  readonly stagingBytes: number;
  /** Takes a line that an operator should see. */
  readonly note: (line: string) => void;
};

export class HostDie {
  readonly context: GpuContext;
  readonly clock: EventClock;
  readonly #stagingBytes: number;
  readonly stream: Stream;
  /** Where the payloads of jobs lie, one job after the other. */
  readonly inputArena: PinnedArena;
  readonly outputArena: PinnedArena;
  /** Files that are memory, which jobs copy from and to. */
  readonly mapped: MappedFiles;
  #staging: HostBuffer | null = null;
  #events: { readonly start: GpuEvent; readonly end: GpuEvent } | null = null;
  readonly #modules: ModuleCache;
  readonly #shelf: BufferShelf;
  readonly #residents = new Map<string, DeviceBuffer>();
  #probes = 0;

  constructor(context: GpuContext, { clock, stagingBytes, note }: HostDieOptions) {
    this.context = context;
    this.clock = clock;
    this.#stagingBytes = stagingBytes;
    this.stream = context.createStream();
    this.#modules = new ModuleCache(context);
    this.#shelf = new BufferShelf(context);
    this.inputArena = new PinnedArena(context.allocateHost);
    this.outputArena = new PinnedArena(context.allocateHost);
    this.mapped = new MappedFiles({ adopt: context.adoptHost, note });
  }

  /** What moves this die's bytes; its staging buffer is made on first use and kept. */
  carrier(): Result<Carrier, JobCause> {
    if (this.#staging === null) {
      const staging = granted(this.context.allocateHost(this.#stagingBytes));
      if (!staging.ok) return staging;
      this.#staging = staging.value;
    }
    return ok({ stream: this.stream, staging: this.#staging, clock: this.clock });
  }

  /** The module, loaded on first use and again when its file has changed. */
  module(reference: ModuleReference): Result<GpuModule, JobCause> {
    return this.#modules.load(reference);
  }

  /** What the launch of a job is timed with; jobs run one after the other, so one pair will do. */
  events(): { readonly start: GpuEvent; readonly end: GpuEvent } {
    this.#events ??= { start: this.context.createEvent(), end: this.context.createEvent() };
    return this.#events;
  }

  /** Device memory for one job, with whatever an earlier one left in it. */
  allocate(bytes: number): Result<DeviceBuffer, JobCause> {
    return granted(this.#shelf.take(bytes));
  }

  /** Takes back what `allocate` gave. Nothing that uses it may still be on its way. */
  giveBack(buffer: DeviceBuffer): void {
    this.#shelf.give(buffer);
  }

  /** The resident buffer of that name, made or made anew where its size differs. */
  resident(name: string, bytes: number): Result<DeviceBuffer, JobCause> {
    const held = this.#residents.get(name);
    if (held?.bytes === bytes) return ok(held);
    const made = granted(this.#shelf.take(bytes));
    if (!made.ok) return made;
    held?.free();
    this.#residents.set(name, made.value);
    return made;
  }

  /**
   * Destroys everything that the die holds, what was made last first, and then the context. No job
   * may be under way, and nothing is asked of the die any more.
   */
  teardown(): Omit<DieTeardown, "die"> {
    const residents = [...this.#residents.values()];
    this.#residents.clear();
    for (const buffer of residents) buffer.free();
    const buffers = [...residents, ...this.#shelf.clear()];
    this.mapped.clear();
    this.inputArena.clear();
    this.outputArena.clear();
    this.#staging?.free();
    this.#events?.start.close();
    this.#events?.end.close();
    this.stream.close();
    const modules = this.#modules.clear();
    this.context.close();
    const bytes = buffers.reduce((sum, buffer) => sum + buffer.bytes, 0);
    return { modules, buffers: buffers.length, bytes };
  }

  /**
   * Runs the probe kernel and compares every word. Each probe has a token of its own, so that what
   * an earlier one left in memory cannot pass. Throws GpuError where the context is lost.
   */
  async probe(reference: ModuleReference): Promise<Result<boolean, JobCause>> {
    const row = catalogueKernel("probe");
    const module = this.module(reference);
    if (!module.ok) return module;
    const kernel = granted(module.value.kernel(row.entry));
    if (!kernel.ok) return kernel;
    const bytes = PROBE_THREADS * Uint32Array.BYTES_PER_ELEMENT;
    const output = this.resident("probe.output", bytes);
    const carrier = this.carrier();
    if (!output.ok) return output;
    if (!carrier.ok) return carrier;
    this.#probes += 1;
    const token = Math.imul(this.#probes, 0x9e3779b1) >>> 0;
    const parameters = packParameters(kernel.value, [
      { buffer: output.value },
      { type: "u32", value: token },
    ]);
    invariant(parameters.ok, "the probe kernel takes a buffer and a token");
    const launched = this.stream.launch({
      kernel: kernel.value,
      grid: [1, 1, 1],
      block: [row.blockThreads, 1, 1],
      sharedBytes: 0,
      parameters: parameters.value,
    });
    if (!launched.ok) return err(refusalCause(launched.error));
    const timeoutMs = this.#probes === 1 ? FIRST_PROBE_TIMEOUT_MS : PROBE_TIMEOUT_MS;
    const limits = { timeoutMs, clock: this.clock };
    if ((await waitUntilIdle(this.stream, limits)) === "timeout") return ok(false);
    const actual = new Uint8Array(bytes);
    await download(carrier.value, output.value, bytes, (view, at) => actual.set(view, at));
    const expected = referenceProbe(token);
    return ok(compareU32(expected, new Uint32Array(actual.buffer)).bad === 0);
  }

  /**
   * Copies a resident buffer of the work kernel back and compares it with the reference, chunk by
   * chunk. Preconditions: the kernel has ended.
   */
  async collect(request: {
    readonly buffer: string;
    readonly elements: number;
    readonly seed: number;
    readonly iters: number;
  }): Promise<Result<Collected, JobCause>> {
    const output = this.#residents.get(request.buffer);
    const carrier = this.carrier();
    invariant(output !== undefined, `the resident buffer ${request.buffer} exists`);
    if (!carrier.ok) return carrier;
    // The inputs are few different whole numbers, so each sum is worked out once.
    const sums = Float32Array.from({ length: SEED_PATTERN_VALUE_MAX + 1 }, (_, value) =>
      addOnes(value, request.iters),
    );
    const expect = (index: number): number => sums[seedValue(request.seed, index)] ?? 0;
    const { bytes, tally } = createTally(request.elements, expect);
    await download(carrier.value, output, bytes, tally.take);
    return ok(tally.result());
  }
}

type Tally = {
  readonly take: (view: Uint8Array, offset: number) => void;
  readonly result: () => Collected;
};

/**
 * Compares f32 elements with `expect(index)`, bit for bit, as they come in chunks. No NaN is ever
 * expected, so there is none to make an exception for.
 */
function createTally(
  elements: number,
  expect: (index: number) => number,
): { readonly bytes: number; readonly tally: Tally } {
  const floatBytes = Float32Array.BYTES_PER_ELEMENT;
  let [bad, checked, firstSample, lastSample] = [0, 0, 0, 0];
  let firstBad: Collected["firstBad"] = null;
  const take = (view: Uint8Array, offset: number): void => {
    const actual = new Float32Array(view.buffer, view.byteOffset, view.byteLength / floatBytes);
    const first = offset / floatBytes;
    for (let k = 0; k < actual.length; k++) {
      const [expected, found] = [expect(first + k), actual[k] ?? 0];
      if (Object.is(expected, found)) continue;
      bad += 1;
      firstBad ??= { index: first + k, expected, actual: found };
    }
    checked += actual.length;
    if (offset === 0) firstSample = actual[0] ?? 0;
    lastSample = actual.at(-1) ?? 0;
  };
  const result = (): Collected => ({ bad, checked, firstSample, lastSample, firstBad });
  return { bytes: elements * floatBytes, tally: { take, result } };
}
