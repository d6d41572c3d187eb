/**
 * One producer of the bench, on a thread of its own so that the bridge's thread measures nothing of
 * itself: posts vadd jobs one after the other, and times each from its record written to its done
 * record read. Started by bench-load.ts.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "../../base/mod.ts";
import { CBD2_DONE, CUBB2_JOB, STATUS, type Cbd2Done } from "../../records/mod.ts";
import { vaddRecord } from "../trial/job-record.ts";
import { putWhole } from "../trial/producer.ts";

export type ProducerOrder = {
  readonly job: string;
  readonly done: string;
  readonly elements: number;
  readonly firstSeq: bigint;
  /** Jobs that are run first and not measured. */
  readonly warmUps: number;
  /** It ends after that many, or after that time, whichever is first. */
  readonly jobsMax: number;
  readonly durationMs: number;
  readonly waitMsMax: number;
  /** Between two looks at the done file; 0: none. */
  readonly pauseMs: number;
  /** Shared by all producers of one load, of which there are `producers`; see `awaitOthers`. */
  readonly start: Int32Array;
  readonly producers: number;
};

export type ProducerReport = {
  /** Per job, in nanoseconds. */
  readonly latencies: readonly number[];
  readonly kernels: readonly number[];
  /** From the first job's record written to the last one's done record read. */
  readonly elapsedMs: number;
  /** Why it stopped early; null where it did not. */
  readonly failure: string | null;
  readonly nextSeq: bigint;
};

/** Words of ProducerOrder.start. */
const WARM = 0;
const BEGUN = 1;

type Timed = { readonly done: Cbd2Done; readonly latencyNs: number };

class BenchProducer {
  readonly #order: ProducerOrder;
  readonly #record = new Uint8Array(CBD2_DONE.bytes);
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  #seq: bigint;

  constructor(order: ProducerOrder) {
    this.#order = order;
    this.#seq = order.firstSeq;
  }

  run(): ProducerReport {
    const { warmUps, jobsMax, durationMs } = this.#order;
    const latencies: number[] = [];
    const kernels: number[] = [];
    let failure: string | null = null;
    for (let index = 0; index < warmUps && failure === null; index++) {
      failure = failureOf(this.#runOne());
    }
    this.#awaitOthers();
    const startMs = performance.now();
    while (failure === null && latencies.length < jobsMax) {
      const timed = this.#runOne();
      failure = failureOf(timed);
      if (timed === null) break;
      latencies.push(timed.latencyNs);
      kernels.push(Number(timed.done.kernelNs));
      if (performance.now() - startMs >= durationMs) break;
    }
    const elapsedMs = performance.now() - startMs;
    return { latencies, kernels, elapsedMs, failure, nextSeq: this.#seq };
  }

  /** Until all producers are warm, so that they are measured together; the last one lets go. */
  #awaitOthers(): void {
    const { start, producers, waitMsMax } = this.#order;
    if (Atomics.add(start, WARM, 1) + 1 < producers) {
      Atomics.wait(start, BEGUN, 0, waitMsMax);
      return;
    }
    Atomics.store(start, BEGUN, 1);
    Atomics.notify(start, BEGUN);
  }

  /** Null where no done record came. */
  #runOne(): Timed | null {
    const { job, elements, waitMsMax, pauseMs } = this.#order;
    const seq = this.#seq;
    this.#seq += 1n;
    const record = CUBB2_JOB.encode(vaddRecord({ seq }, elements));
    const startNs = process.hrtime.bigint();
    putWhole(job, record);
    const endNs = startNs + BigInt(waitMsMax) * 1_000_000n;
    for (;;) {
      const done = this.#readDone();
      const nowNs = process.hrtime.bigint();
      if (done?.seq === seq) return { done, latencyNs: Number(nowNs - startNs) };
      if (nowNs > endNs) return null;
      if (pauseMs > 0) Atomics.wait(this.#pause, 0, 0, pauseMs);
    }
  }

  #readDone(): Cbd2Done | null {
    let file: number;
    try {
      file = openSync(this.#order.done, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
    try {
      readSync(file, this.#record, 0, this.#record.length, 0);
    } finally {
      closeSync(file);
    }
    const done = CBD2_DONE.decode(this.#record);
    return done.ok ? done.value : null;
  }
}

function failureOf(timed: Timed | null): string | null {
  if (timed === null) return "no done record came";
  const { seq, status } = timed.done;
  return status === STATUS.ok ? null : `seq ${seq} ended with status ${status}`;
}

invariant(parentPort !== null, "this file is a worker's");
parentPort.postMessage(new BenchProducer(workerData as ProducerOrder).run());
