import { MessageChannel, Worker, type MessagePort } from "node:worker_threads";
import { invariant } from "../base/mod.ts";
import { controlBlock, doorbellOf, WORD, WORKERS_MAX } from "./control-block.ts";
import { whenChanged } from "./wait-async.ts";
import type { WorkerMessage, WorkerStart } from "./worker-message.ts";

/** A kernel as the pool knows it; ids are never used twice in a pool. */
export type PoolKernel = { readonly id: number; readonly module: WebAssembly.Module };

export type PoolLaunch = {
  readonly kernel: PoolKernel;
  /** 1 to 2^32 - 1. */
  readonly blocks: number;
  /** The scratch area of worker 0, and the distance to the next worker's. */
  readonly scratch: number;
  readonly scratchStride: number;
};

/** How the launch in progress stands. */
export type PoolState =
  | { readonly kind: "idle" }
  | { readonly kind: "running" }
  | { readonly kind: "done"; readonly endNs: bigint }
  /** `text` is null where the fault record in the worker's scratch area tells what happened. */
  | { readonly kind: "failed"; readonly worker: number; readonly text: string | null }
  | { readonly kind: "crashed"; readonly text: string };

/**
 * The worker threads of one context. They belong to the context and to no other, so that a fault or
 * an endless kernel is ended with them and harms nobody else. Starting takes tens of milliseconds
 * and happens in the background; nothing here ever waits.
 */
export class WorkerPool {
  readonly workers: number;
  readonly #control = controlBlock();
  readonly #threads: Worker[] = [];
  readonly #ports: MessagePort[] = [];
  readonly #posted = new Set<number>();
  readonly #wake: () => void;
  #participants = 0;
  #crash: string | null = null;
  #isWaiting = false;
  #isClosed = false;

  /** `wake` is called from the event loop when `state` or `isReady` may have changed. */
  constructor(workers: number, memory: WebAssembly.Memory, wake: () => void) {
    invariant(workers >= 1 && workers <= WORKERS_MAX, "a pool has 1 to WORKERS_MAX workers");
    this.workers = workers;
    this.#wake = wake;
    const signal = Atomics.load(this.#control.words, WORD.signal);
    for (let index = 0; index < workers; index += 1) this.#spawn(index, memory);
    this.#awaitSignal(signal);
  }

  /** True once every worker is up: a launch then begins within microseconds. */
  get isReady(): boolean {
    return Atomics.load(this.#control.words, WORD.ready) === this.workers;
  }

  /** When the last worker came up. */
  get readyNs(): bigint {
    return latest(this.#control.readyNs, this.workers);
  }

  /** Begins a launch, whose descriptor is already in the memory; none may be in progress. */
  begin(launch: PoolLaunch): void {
    invariant(this.#participants === 0, "one launch at a time");
    this.#post(launch.kernel);
    const { words, unsigned } = this.#control;
    // Read before any worker is told to start, so that no signal is missed.
    const signal = Atomics.load(words, WORD.signal);
    this.#participants = Math.min(this.workers, launch.blocks);
    words[WORD.launch.kernel] = launch.kernel.id;
    unsigned[WORD.launch.blocks] = launch.blocks;
    words[WORD.launch.participants] = this.#participants;
    unsigned[WORD.launch.scratch] = launch.scratch;
    unsigned[WORD.launch.scratchStride] = launch.scratchStride;
    unsigned[WORD.nextBlock] = 0;
    words[WORD.done] = 0;
    for (let worker = 0; worker < this.#participants; worker += 1) {
      Atomics.add(words, doorbellOf(worker), 1);
      Atomics.notify(words, doorbellOf(worker));
    }
    this.#awaitSignal(signal);
  }

  /** Asks after the launch in progress; tells `done` once, and failures for good. */
  poll(): PoolState {
    const { words, text, doneNs } = this.#control;
    const failed = Atomics.load(words, WORD.failed);
    if (failed > 0) {
      const textBytes = Atomics.load(words, WORD.textBytes);
      const worker = failed - 1;
      if (textBytes === 0) return { kind: "failed", worker, text: null };
      return { kind: "failed", worker, text: new TextDecoder().decode(text.slice(0, textBytes)) };
    }
    if (this.#crash !== null) return { kind: "crashed", text: this.#crash };
    if (this.#participants === 0) return { kind: "idle" };
    if (Atomics.load(words, WORD.done) < this.#participants) return { kind: "running" };
    const endNs = latest(doneNs, this.#participants);
    this.#participants = 0;
    return { kind: "done", endNs };
  }

  /** Lets the workers forget a kernel, before the next launch they take part in. */
  drop(id: number): void {
    if (!this.#posted.delete(id) || this.#isClosed) return;
    for (const port of this.#ports) port.postMessage({ kind: "drop", id } satisfies WorkerMessage);
  }

  /** Ends the workers, in the middle of a kernel if need be; resolves when all threads are gone. */
  async close(): Promise<void> {
    if (!this.#isClosed) for (const port of this.#ports) port.close();
    this.#isClosed = true;
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }

  #spawn(index: number, memory: WebAssembly.Memory): void {
    const { port1, port2 } = new MessageChannel();
    const start: WorkerStart = { index, memory, control: this.#control.buffer, port: port2 };
    const thread = new Worker(new URL("./worker.js", import.meta.url), {
      name: `holdfast-soft-${index}`,
      workerData: start,
      transferList: [port2],
      // What the process was started with (an inspector, a test runner) is not for its workers.
      execArgv: [],
    });
    thread.on("error", (error) => {
      this.#reportCrash(`worker ${index} ended: ${error.message}`);
    });
    thread.on("exit", (code) => {
      this.#reportCrash(`worker ${index} exited with code ${code}`);
    });
    thread.unref();
    port1.unref();
    this.#threads.push(thread);
    this.#ports.push(port1);
  }

  #reportCrash(text: string): void {
    if (this.#isClosed || this.#crash !== null) return;
    this.#crash = text;
    this.#wake();
  }

  #post(kernel: PoolKernel): void {
    if (this.#posted.has(kernel.id)) return;
    this.#posted.add(kernel.id);
    const message: WorkerMessage = { kind: "kernel", id: kernel.id, module: kernel.module };
    for (const port of this.#ports) port.postMessage(message);
  }

  /** At most one wait is pending: in a loop that never yields they would pile up otherwise. */
  #awaitSignal(signal: number): void {
    if (this.#isWaiting || this.#isClosed) return;
    this.#isWaiting = true;
    const { words } = this.#control;
    whenChanged(words, WORD.signal, signal, () => {
      this.#isWaiting = false;
      if (this.#isClosed) return;
      // Waits again before it looks, so that what happens in between is noticed either way.
      if (!this.isReady || this.#participants > 0) {
        this.#awaitSignal(Atomics.load(words, WORD.signal));
      }
      this.#wake();
    });
  }
}

function latest(times: BigInt64Array, count: number): bigint {
  let time = 0n;
  for (let index = 0; index < count; index += 1) {
    const each = Atomics.load(times, index);
    if (each > time) time = each;
  }
  return time;
}
