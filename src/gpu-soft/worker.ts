/**
 * A worker thread: sleeps until its doorbell rings, then takes chunks of blocks until none is left.
 * It returns to its event loop never, and ends when the context terminates it.
 */
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import { invariant } from "../base/mod.ts";
import { FAULT, kernelImports } from "../ptx/mod.ts";
import { LAUNCH_ADDRESS } from "./address-map.ts";
import { takeChunk } from "./block-queue.ts";
import {
  controlBlock,
  doorbellOf,
  nowNs,
  raiseSignal,
  TEXT_BYTES_MAX,
  WORD,
  type ControlBlock,
} from "./control-block.ts";
import type { WorkerMessage, WorkerStart } from "./worker-message.ts";

/** How long to look at the doorbell before sleeping: less than falling asleep and waking costs. */
const SPIN_NS = 20_000n;

type Run = (launch: number, scratch: number, firstBlock: number, endBlock: number) => void;

type Worker = {
  readonly start: WorkerStart;
  readonly control: ControlBlock;
  readonly kernels: Map<number, WebAssembly.Module | Run>;
};

/** Returns the doorbell's new value, once it differs from `heard`. */
function awaitDoorbell({ start, control }: Worker, heard: number): number {
  const bell = doorbellOf(start.index);
  const spinEnd = nowNs() + SPIN_NS;
  do {
    const value = Atomics.load(control.words, bell);
    if (value !== heard) return value;
  } while (nowNs() < spinEnd);
  while (Atomics.load(control.words, bell) === heard) Atomics.wait(control.words, bell, heard);
  return Atomics.load(control.words, bell);
}

function readMessages({ start, kernels }: Worker): void {
  for (;;) {
    const received = receiveMessageOnPort(start.port);
    if (received === undefined) return;
    const message = received.message as WorkerMessage;
    if (message.kind === "kernel") kernels.set(message.id, message.module);
    else kernels.delete(message.id);
  }
}

/** The kernel's `run`, linked when it is first asked for. */
function runOf({ start, kernels }: Worker, id: number): Run {
  const known = kernels.get(id);
  invariant(known !== undefined, `kernel ${id} was posted before its launch`);
  if (typeof known === "function") return known;
  const imports = kernelImports(start.memory, {
    // The same clock in every worker; performance.now() begins anew in each.
    clock: nowNs,
    sin: Math.sin,
    cos: Math.cos,
    tanh: Math.tanh,
  });
  const { run } = new WebAssembly.Instance(known, imports).exports;
  invariant(typeof run === "function", "a compiled kernel exports run");
  kernels.set(id, run as Run);
  return run as Run;
}

function runChunks(worker: Worker, scratch: number): void {
  const { control } = worker;
  const run = runOf(worker, Atomics.load(control.words, WORD.launch.kernel));
  for (let chunk = takeChunk(control); chunk !== null; chunk = takeChunk(control)) {
    run(LAUNCH_ADDRESS, scratch, chunk.first, chunk.end);
  }
}

/** Leaves word of what went wrong, unless another worker was first. */
function reportFailure({ start, control }: Worker, scratch: number, error: unknown): void {
  const failed = Atomics.compareExchange(control.words, WORD.failed, 0, -1);
  if (failed !== 0) return;
  const code = new Uint32Array(start.memory.buffer, scratch + FAULT.code, 1)[0];
  let textBytes = 0;
  if (code === 0) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const bytes = new TextEncoder().encode(text).subarray(0, TEXT_BYTES_MAX);
    control.text.set(bytes);
    textBytes = bytes.length;
  }
  Atomics.store(control.words, WORD.textBytes, textBytes);
  Atomics.store(control.words, WORD.failed, 1 + start.index);
  raiseSignal(control);
}

function takePart(worker: Worker): boolean {
  const { start, control } = worker;
  const { launch } = WORD;
  const stride = Atomics.load(control.unsigned, launch.scratchStride);
  const scratch = Atomics.load(control.unsigned, launch.scratch) + start.index * stride;
  try {
    readMessages(worker);
    runChunks(worker, scratch);
  } catch (error) {
    reportFailure(worker, scratch, error);
    return false;
  }
  Atomics.store(control.doneNs, start.index, nowNs());
  const done = Atomics.add(control.words, WORD.done, 1) + 1;
  if (done === Atomics.load(control.words, launch.participants)) raiseSignal(control);
  return true;
}

function main(start: WorkerStart): void {
  const worker = { start, control: controlBlock(start.control), kernels: new Map() };
  const { control } = worker;
  Atomics.store(control.readyNs, start.index, nowNs());
  Atomics.add(control.words, WORD.ready, 1);
  raiseSignal(control);
  let heard = 0;
  do heard = awaitDoorbell(worker, heard);
  while (takePart(worker));
}

main(workerData as WorkerStart);
