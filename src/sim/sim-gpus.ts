/**
 * The GPUs of a simulated machine: the model GPU, conducted by the machine. Each die host is a
 * process with a backend of its own; what its contexts hold can be looked at from outside.
 */
import { ok, type Result } from "../base/mod.ts";
import type { SimMachine, Struck } from "../board/mod.ts";
import {
  createModelGpu,
  GpuError,
  MODEL_DEVICE,
  outOfMemory,
  type GpuRefusal,
  type ModelConduct,
  type ModelContextView,
  type ModelDevice,
  type ModelWork,
} from "../gpu/mod.ts";
import type { LocalHost, OpenedGpu } from "../owner/mod.ts";

/** A context as the machine has it. */
export type SimContext = {
  readonly die: number;
  readonly host: LocalHost;
  readonly view: ModelContextView;
  /** The die's epoch when it was made; it is lost once the die has another one. */
  readonly epoch: number;
  /** When all that was queued so far will be done. */
  busyUntilMs: number;
};

export type SimGpusOptions = {
  readonly machine: SimMachine;
  /** The die for whose bring-up a host opens its backend now. */
  readonly initialisingDie: () => number;
  /** See `Mutation`: computes right answers on a die that is said to give wrong ones. */
  readonly hidesWrongAnswers: boolean;
};

const lostDevice = (call: string, detail: string): GpuError =>
  new GpuError({ code: 999, errorName: "CUDA_ERROR_UNKNOWN", call, sticky: true, detail });

/** As the driver says of a die that it had and that does not answer. */
const unavailable = (message: string): GpuRefusal => ({
  code: "unavailable",
  driverCode: 46,
  errorName: "CUDA_ERROR_DEVICE_UNAVAILABLE",
  call: "cuCtxCreate_v2",
  message,
});

export class SimGpus {
  readonly #options: SimGpusOptions;
  readonly #contexts = new Set<SimContext>();
  /** Until when the thread of each host is held up by a call. */
  readonly #busyUntilMs = new Map<LocalHost, number>();

  constructor(options: SimGpusOptions) {
    this.#options = options;
    options.machine.isComputing = (die) => this.isComputing(die);
  }

  /** Those of hosts that live, lost ones included. */
  contextsOf(die: number): readonly SimContext[] {
    return [...this.#contexts].filter((context) => context.die === die);
  }

  isLost({ die, epoch }: SimContext): boolean {
    return epoch !== this.#options.machine.dieOf(die).epoch;
  }

  isComputing(die: number): boolean {
    const nowMs = this.#options.machine.clock.nowMs();
    return this.contextsOf(die).some(
      (context) => context.busyUntilMs > nowMs && !this.isLost(context),
    );
  }

  /** How long the host's thread is still held up, in milliseconds. */
  busyMs(host: LocalHost): number {
    const { clock } = this.#options.machine;
    return Math.max(0, (this.#busyUntilMs.get(host) ?? 0) - clock.nowMs());
  }

  /** A host has ended, with all its contexts. */
  forget(host: LocalHost): void {
    this.#busyUntilMs.delete(host);
    for (const context of this.#contexts) if (context.host === host) this.#contexts.delete(context);
  }

  /** Opens the backend of a host: cuInit. */
  open(host: LocalHost): Result<OpenedGpu, GpuRefusal> {
    const { machine, initialisingDie } = this.#options;
    this.#spend(host, machine.hostStep("initialise", initialisingDie()).ms);
    // What a process has counted keeps its ordinal, whatever becomes of the device.
    const counted: ModelDevice[] = [];
    let isCountedOnce = false;
    const devices = (): readonly ModelDevice[] => {
      if (isCountedOnce && machine.spec.counts === "once") return counted;
      isCountedOnce = true;
      for (const { die, address, isBound } of machine.dies) {
        const isCounted = counted.some(({ info }) => info.pciAddress === address);
        if (isCounted || !isBound || machine.has("no_ordinal", die)) continue;
        if (machine.has("off_bus", die)) continue;
        counted.push(this.#createDevice(host, die, counted.length));
      }
      return counted;
    };
    return ok({ gpu: createModelGpu(devices), note: null });
  }

  #createDevice(host: LocalHost, die: number, ordinal: number): ModelDevice {
    const { spec, clock } = this.#options.machine;
    const { address: pciAddress } = this.#options.machine.dieOf(die);
    const { memoryBytes } = spec;
    const contexts = new WeakMap<ModelContextView, SimContext>();
    const conduct: ModelConduct = {
      touch: (call, view) => this.#touch(call, die, contexts.get(view)),
      begin: (work, view) => this.#begin(work, contexts.get(view)),
      onOutput: (output) => this.#spoil(die, output),
      nowNs: () => Math.round(clock.nowMs() * 1e6),
      refuseContext: () => this.#refuseContext(host, die),
      onOpen: (view) => {
        const { epoch } = this.#options.machine.dieOf(die);
        const context = { die, host, view, epoch, busyUntilMs: 0 };
        contexts.set(view, context);
        this.#contexts.add(context);
      },
      refuseMemory: () => this.#refuseMemory(host, die),
      refuseAdoption: () => null,
      onClose: (what) => {
        if (what === "context")
          this.#options.machine.violate(6, `a context of die ${die} is destroyed`);
      },
    };
    return {
      info: { ...MODEL_DEVICE, ordinal, pciAddress, memoryBytes, name: "GK210 (simulated)" },
      conduct,
    };
  }

  #spend(host: LocalHost, ms: number): void {
    const { clock } = this.#options.machine;
    const fromMs = Math.max(clock.nowMs(), this.#busyUntilMs.get(host) ?? 0);
    this.#busyUntilMs.set(host, fromMs + ms);
  }

  /** Throws where the die cannot be touched; without a fault behind it, that is a violation. */
  #touch(call: string, die: number, context: SimContext | undefined): void {
    const { machine } = this.#options;
    const slot = machine.slotOf(die);
    const isLost = context !== undefined && this.isLost(context);
    if (!machine.isMapped(die)) {
      if (!slot.isLost && !isLost) {
        const shown = slot.mover === null ? String(slot.occupant) : "none, since it moves";
        machine.violate(1, `${call} touches die ${die} while the window shows ${shown}`);
      }
      throw lostDevice(call, "the window does not show the die");
    }
    if (machine.has("off_bus", die)) throw lostDevice(call, "the die fell off the bus");
    if (isLost) throw lostDevice(call, "the context was lost");
  }

  #begin(work: ModelWork, context: SimContext | undefined): () => boolean {
    if (work.kind === "record" || context === undefined) return () => true;
    const { machine } = this.#options;
    const step = work.kind === "launch" ? "kernel" : "copy";
    const { ms, struck } = machine.hostStep(step, context.die);
    const isEndless = has(struck, "endless");
    const { clock } = machine;
    const doneMs = isEndless ? Infinity : Math.max(clock.nowMs(), context.busyUntilMs) + ms;
    context.busyUntilMs = doneMs;
    return () => clock.nowMs() >= doneMs;
  }

  #spoil(die: number, output: Uint8Array): void {
    const { machine, hidesWrongAnswers } = this.#options;
    if (machine.has("wrong_answer", die) && !hidesWrongAnswers) output[0] = (output[0] ?? 0) ^ 1;
  }

  #refuseContext(host: LocalHost, die: number): GpuRefusal | null {
    const { machine } = this.#options;
    this.#spend(host, machine.hostStep("context", die).ms);
    if (machine.has("out_of_memory", die)) return outOfMemory("no room for a context");
    if (machine.has("off_bus", die)) return unavailable("the die does not answer");
    if (machine.isMapped(die)) return null;
    if (!machine.slotOf(die).isLost)
      machine.violate(1, `a context is made on die ${die} while the window does not show it`);
    return unavailable("the window does not show the die");
  }

  #refuseMemory(host: LocalHost, die: number): GpuRefusal | null {
    const { machine } = this.#options;
    this.#spend(host, machine.hostStep("memory", die).ms);
    return machine.has("out_of_memory", die) ? outOfMemory("the die is full") : null;
  }
}

const has = (struck: Struck, kind: Struck[number]["kind"]): boolean =>
  struck.some((fault) => fault.kind === kind);
