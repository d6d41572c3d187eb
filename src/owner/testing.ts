/**
 * For tests of the owner: a GPU in plain JavaScript that knows the catalogue's kernels by name, and
 * die hosts that run in this process over it. Everything above the port is the real code.
 */
import { invariant, ok, systemClock, err } from "../base/mod.ts";
import {
  addOnes,
  GpuError,
  referenceProbe,
  referenceVadd,
  referenceVaddMutated,
  type DeviceBuffer,
  type DeviceInfo,
  type Gpu,
  type GpuContext,
  type GpuEvent,
  type GpuKernel,
  type GpuModule,
  type GpuRefusal,
  type KernelParameter,
  type Launch,
  type Stream,
} from "../gpu/mod.ts";
import { DieHost, type DieHostOptions } from "./die-host.ts";
import { openHostLink, type HostLauncher, type HostLink } from "./host-link.ts";
import type { Job, JobResult } from "./job.ts";

/** What the fake GPU did, and what it shall do wrong. */
export type FakeGpuScript = {
  /** Polls of a stream or an event until a launch is done. */
  pollsPerLaunch: number;
  /** The next launch fails with CUDA's 700 when it is polled. */
  isNextLaunchFaulty: boolean;
  /** The next launch never ends. */
  isNextLaunchEndless: boolean;
  /** Contexts closed and buffers freed so far: nothing resident may ever be. */
  closedContexts: number;
  /** Device buffers freed so far. */
  freedBuffers: number;
  /** Memory of others cannot be page-locked. */
  isAdoptRefused: boolean;
  openedContexts: number;
  /** Called with each launch that is accepted. */
  onLaunch: (launch: Launch) => void;
  /** Called with what each kernel has written to its first argument, to spoil it. */
  onOutput: (output: Uint8Array) => void;
};

export const createFakeScript = (): FakeGpuScript => ({
  pollsPerLaunch: 0,
  isNextLaunchFaulty: false,
  isNextLaunchEndless: false,
  closedContexts: 0,
  freedBuffers: 0,
  isAdoptRefused: false,
  openedContexts: 0,
  onLaunch: () => undefined,
  onOutput: () => undefined,
});

const parameter = (type: string, offset: number, bytes: number): KernelParameter => ({
  type,
  offset,
  bytes,
});

const pointer = (offset: number): KernelParameter => parameter("u64", offset, 8);

const KERNELS: Readonly<Record<string, readonly KernelParameter[]>> = {
  mail: [pointer(0), pointer(8), parameter("u32", 16, 4)],
  vadd: [pointer(0), pointer(8), pointer(16), parameter("u32", 24, 4)],
  vadd_mutated: [pointer(0), pointer(8), pointer(16), parameter("u32", 24, 4)],
  slow_add: [pointer(0), pointer(8), parameter("u32", 16, 4), parameter("u32", 20, 4)],
  probe: [pointer(0), parameter("u32", 8, 4)],
  /** Copies its struct of 16 bytes to where its pointer points. */
  store_struct: [pointer(0), parameter("b8", 8, 16)],
};

const adoptRefusal: GpuRefusal = {
  code: "unavailable",
  driverCode: 801,
  errorName: "CUDA_ERROR_NOT_SUPPORTED",
  call: "cuMemHostRegister_v2",
  message: "this memory cannot be page-locked",
};

const illegalAddress = (): GpuError =>
  new GpuError({
    code: 700,
    errorName: "CUDA_ERROR_ILLEGAL_ADDRESS",
    call: "fakeLaunch",
    sticky: true,
  });

/** A context of the fake: buffers by address, and launches that end after some polls. */
class FakeContext {
  readonly script: FakeGpuScript;
  readonly memory = new Map<bigint, Uint8Array>();
  pollsLeft = 0;
  /** Launches so far, and how many of them are known to be done. */
  launches = 0;
  doneLaunches = 0;
  isEndless = false;
  isLost = false;
  /** How many launches each recorded event comes after. */
  readonly records = new WeakMap<GpuEvent, number>();
  #nextAddress = 0x1000n;

  constructor(script: FakeGpuScript) {
    this.script = script;
  }

  allocate(bytes: number): DeviceBuffer {
    const address = this.#nextAddress;
    this.#nextAddress += BigInt(Math.ceil(bytes / 256) * 256);
    this.memory.set(address, new Uint8Array(bytes));
    const free = (): void => {
      this.memory.delete(address);
      this.script.freedBuffers += 1;
    };
    return { address, bytes, free };
  }

  /** Memory from `address` to the end of its buffer. */
  bytesOf(address: bigint): Uint8Array {
    for (const [start, bytes] of this.memory) {
      const offset = Number(address - start);
      if (offset >= 0 && offset < bytes.length) return bytes.subarray(offset);
    }
    invariant(false, `the fake has memory at ${String(address)}`);
  }

  isIdle(): boolean {
    if (this.isLost) throw illegalAddress();
    if (this.isEndless) return false;
    if (this.pollsLeft > 0) {
      this.pollsLeft -= 1;
      return false;
    }
    this.doneLaunches = this.launches;
    return true;
  }

  launch(launch: Launch): void {
    const { kernel, parameters } = launch;
    this.script.onLaunch(launch);
    const view = new DataView(parameters.buffer, parameters.byteOffset, parameters.byteLength);
    this.isLost = this.script.isNextLaunchFaulty;
    this.isEndless = this.script.isNextLaunchEndless;
    this.script.isNextLaunchFaulty = false;
    this.script.isNextLaunchEndless = false;
    this.pollsLeft += this.script.pollsPerLaunch;
    this.launches += 1;
    const memoryAt = (offset: number): Uint8Array => this.bytesOf(view.getBigUint64(offset, true));
    runKernel(kernel.name, view, memoryAt);
    this.script.onOutput(memoryAt(0));
  }
}

const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4));

/** What the kernels compute; `memoryAt` gives the memory behind the pointer at an offset. */
function runKernel(name: string, view: DataView, memoryAt: (offset: number) => Uint8Array): void {
  const output = memoryAt(0);
  const put = (values: Float32Array | Uint32Array): void =>
    output.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  switch (name) {
    case "probe":
      put(referenceProbe(view.getUint32(8, true)));
      return;
    case "store_struct":
      output.set(new Uint8Array(view.buffer, view.byteOffset + 8, 16));
      return;
    case "mail":
      output.set(memoryAt(8).subarray(0, 4 * view.getUint32(16, true)));
      return;
    case "vadd":
    case "vadd_mutated": {
      const count = view.getUint32(24, true);
      const [a, b] = [memoryAt(8), memoryAt(16)].map((at) => floatsOf(at).slice(0, count));
      invariant(a !== undefined && b !== undefined, "vadd has two operands");
      put(name === "vadd" ? referenceVadd(a, b) : referenceVaddMutated(a, b));
      return;
    }
    case "slow_add": {
      const [count, iters] = [view.getUint32(16, true), view.getUint32(20, true)];
      const values = floatsOf(memoryAt(8)).slice(0, count);
      // The owner's work has a thousand different whole numbers, a million times.
      const sums = Float64Array.from({ length: 1024 }, (_, value) => addOnes(value, iters));
      put(values.map((value) => sums[value] ?? addOnes(value, iters)));
    }
  }
}

function createStream(context: FakeContext): Stream {
  return {
    copyIn: ({ buffer, offset, bytes }, source, sourceOffset) => {
      const data = source.bytes.subarray(sourceOffset, sourceOffset + bytes);
      context.bytesOf(buffer.address).set(data, offset);
    },
    copyOut: (target, targetOffset, { buffer, offset, bytes }) => {
      const data = context.bytesOf(buffer.address).subarray(offset, offset + bytes);
      target.bytes.set(data, targetOffset);
    },
    fill: ({ buffer, offset, bytes }, value) => {
      context.bytesOf(buffer.address).fill(value, offset, offset + bytes);
    },
    launch: (launch) => {
      context.launch(launch);
      return ok(undefined);
    },
    record: (event) => void context.records.set(event, context.launches),
    isIdle: () => context.isIdle(),
    close: () => undefined,
  };
}

function createModule(name: string): GpuModule {
  return {
    name,
    kernelNames: Object.keys(KERNELS),
    kernel: (entry) => {
      const parameters = KERNELS[entry];
      if (parameters !== undefined) {
        const last = parameters.at(-1);
        const parameterBytes = last === undefined ? 0 : last.offset + last.bytes;
        return ok({ name: entry, parameters, parameterBytes } satisfies GpuKernel);
      }
      const message = `${name} has no entry ${entry}`;
      const [errorName, call] = ["CUDA_ERROR_NOT_FOUND", "cuModuleGetFunction"];
      return err({ code: "kernel_not_found", driverCode: 500, errorName, call, message });
    },
    unload: () => undefined,
  };
}

function createContext(script: FakeGpuScript, device: DeviceInfo): GpuContext {
  const context = new FakeContext(script);
  script.openedContexts += 1;
  const createEvent = (): GpuEvent => {
    const event: GpuEvent = {
      isReached: () =>
        (!context.isLost && (context.records.get(event) ?? 0) <= context.doneLaunches) ||
        context.isIdle(),
      elapsedNs: () => 1000,
      close: () => undefined,
    };
    return event;
  };
  return {
    device,
    loadModule: (_, name) => ok(createModule(name)),
    allocate: (bytes) => ok(context.allocate(bytes)),
    allocateHost: (bytes) => ok({ bytes: new Uint8Array(bytes), free: () => undefined }),
    adoptHost: (bytes) =>
      script.isAdoptRefused ? err(adoptRefusal) : ok({ bytes, free: () => undefined }),
    createStream: () => createStream(context),
    createEvent,
    memory: () => ({ freeBytes: 1, totalBytes: 2 }),
    close: () => void (script.closedContexts += 1),
  };
}

/** A GPU of `devices` devices, all following one script. */
export function createFakeGpu(script: FakeGpuScript, devices: number): Gpu {
  const deviceOf = (ordinal: number): DeviceInfo => ({
    backend: "soft",
    ordinal,
    name: "fake",
    memoryBytes: 2 ** 30,
    multiprocessors: 1,
    computeCapability: [3, 7],
    pciAddress: null,
    driver: "fake",
    sharedBytesPerBlockMax: 49152,
    threadsPerBlockMax: 1024,
  });
  return {
    backend: "soft",
    deviceCount: devices,
    deviceInfo: (ordinal) => ok(deviceOf(ordinal)),
    openContext: (ordinal) => ok(createContext(script, deviceOf(ordinal))),
  };
}

/** Hosts of the fake GPU. `killAll` ends those that are alive. */
export function createFakeLauncher(script: FakeGpuScript, devices: number): LocalLauncher {
  return createLocalLauncher(() => ok({ gpu: createFakeGpu(script, devices), note: null }));
}

export type LocalLauncher = {
  readonly launch: HostLauncher;
  readonly killAll: () => void;
  readonly alive: () => number;
};

/** Starts hosts in this process, over the real protocol. */
export function createLocalLauncher(openGpu: DieHostOptions["openGpu"]): LocalLauncher {
  const alive = new Set<() => void>();
  const launch: HostLauncher = () => {
    let toOwner: (chunk: Buffer) => void = () => undefined;
    let ended: (how: string) => void = () => undefined;
    let isDead = false;
    const host = new DieHost({
      openGpu,
      write: (frame) =>
        void setImmediate(() => {
          if (!isDead) toOwner(frame);
        }),
      clock: systemClock,
    });
    const kill = (): void => {
      if (isDead) return;
      isDead = true;
      alive.delete(kill);
      setImmediate(() => ended("was killed by SIGKILL"));
    };
    alive.add(kill);
    return {
      pid: 1,
      write: (frame) =>
        void setImmediate(() => {
          if (!isDead) host.receive(frame);
        }),
      onData: (listener) => void (toOwner = listener),
      onEnd: (listener) => void (ended = listener),
      kill,
    };
  };
  const killAll = (): void => [...alive].forEach((kill) => kill());
  return { launch, killAll, alive: () => alive.size };
}

/** One die in a host in this process, brought up, for tests that run jobs on it. */
export async function openJobBench(
  openGpu: DieHostOptions["openGpu"],
  onNote: (line: string) => void = () => undefined,
): Promise<{ readonly link: HostLink; readonly run: (job: Job) => Promise<JobResult> }> {
  const link = openHostLink(createLocalLauncher(openGpu).launch(), onNote);
  const opened = await link.call("initialise", {});
  invariant(opened.ok, "the backend opens");
  const context = await link.call("context", { die: 0, ordinal: 0 });
  invariant(context.ok, "a context is made");
  return { link, run: (job) => link.start(0, job).finished };
}
