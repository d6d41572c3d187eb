import { invariant } from "../base/mod.ts";
import type { DeviceClock } from "./device-clock.ts";
import type { AcceptedLaunch, Executor } from "./executor.ts";
import type { Loss } from "./fault.ts";

/** Something queued on a stream. */
export type Work =
  /** Done by the main thread, a slice at a time: `step` returns true after the last one. */
  | { readonly kind: "host"; readonly step: () => boolean }
  | { readonly kind: "launch"; readonly launch: AcceptedLaunch }
  /** `reach` is told when the stream came here, on the device's clock. */
  | { readonly kind: "record"; readonly reach: (timeNs: number) => void };

type Queued = {
  readonly work: Work;
  /** Counts all work of the context, so a lower one was queued earlier. */
  readonly ticket: number;
  readonly queuedNs: number;
  next: Queued | null;
};

/** The queue behind a stream. Its head stays until it is done. */
export class StreamQueue {
  head: Queued | null = null;
  tail: Queued | null = null;
  /** When the last finished work ended, on the device's clock. */
  endNs = 0;
  isClosed = false;

  push(queued: Queued): void {
    if (this.tail === null) this.head = queued;
    else this.tail.next = queued;
    this.tail = queued;
  }

  shift(): void {
    this.head = this.head?.next ?? null;
    if (this.head === null) this.tail = null;
  }
}

type Deferred = { readonly ticket: number; readonly action: () => void };

/**
 * Moves a context's streams on: each in order, side by side with the others. Launches are executed
 * one at a time, in the order in which they came to the front of their streams, over all workers.
 *
 * Nothing here waits. `pump` does what can be done now; it is called by every question and by the
 * executor when something has happened, so queued work goes on even if nobody asks.
 */
export class Scheduler {
  readonly #executor: Executor;
  readonly #clock: DeviceClock;
  readonly #streams = new Set<StreamQueue>();
  #running: StreamQueue | null = null;
  #lastTicket = 0;
  #deferred: Deferred[] = [];
  #isTurnPlanned = false;
  #isClosed = false;
  #loss: Loss | null = null;

  constructor(executor: Executor, clock: DeviceClock) {
    this.#executor = executor;
    this.#clock = clock;
  }

  /** Why the context is lost; null while it is not. */
  get loss(): Loss | null {
    return this.#loss;
  }

  createStream(): StreamQueue {
    const stream = new StreamQueue();
    this.#streams.add(stream);
    return stream;
  }

  /** No more work will come; what is queued is still done. */
  closeStream(stream: StreamQueue): void {
    stream.isClosed = true;
    if (stream.head === null) this.#streams.delete(stream);
  }

  /** Queues work, and begins it at once where nothing stands before it. */
  enqueue(stream: StreamQueue, work: Work): void {
    invariant(!stream.isClosed, "work is queued on an open stream");
    this.#lastTicket += 1;
    const queuedNs = this.#clock.now();
    stream.push({ work, ticket: this.#lastTicket, queuedNs, next: null });
    this.pump();
  }

  isIdle(stream: StreamQueue): boolean {
    return stream.head === null;
  }

  /** Calls `action` once all work queued so far is done; at once where there is none. */
  afterQueued(action: () => void): void {
    this.#deferred.push({ ticket: this.#lastTicket, action });
    this.#runDeferred();
  }

  /** Does what can be done now. */
  pump(): void {
    if (this.#isClosed || this.#loss !== null) return;
    const paused = new Set<StreamQueue>();
    let goesOn = true;
    while (goesOn) goesOn = this.#settle() && this.#advance(paused);
    if (paused.size > 0) this.#planTurn();
    if (this.#deferred.length > 0) this.#runDeferred();
  }

  /** Forgets all work; resolves when none of it is going on any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#streams.clear();
    this.#deferred = [];
    await this.#executor.close();
  }

  /** Takes note of what the executor has done; false when the context is lost. */
  #settle(): boolean {
    const state = this.#executor.poll();
    if (state.kind === "lost") {
      this.#loss = state.loss;
      // Other workers may be in the middle of a long kernel; nobody can use what they compute.
      void this.#executor.close();
      return false;
    }
    if (state.kind === "done") {
      invariant(this.#running !== null, "a launch that ended had begun");
      this.#finish(this.#running, state.endNs);
      this.#running = null;
    }
    return true;
  }

  /** Does what stands at the front of the streams; true when something got done. */
  #advance(paused: Set<StreamQueue>): boolean {
    let hasAdvanced = false;
    let launchable: StreamQueue | null = null;
    for (const stream of this.#streams) {
      while (stream.head !== null && !paused.has(stream)) {
        const { work, ticket, queuedNs } = stream.head;
        if (work.kind === "launch") {
          if (ticket < (launchable?.head?.ticket ?? Infinity)) launchable = stream;
          break;
        }
        if (work.kind === "record") {
          const timeNs = Math.max(queuedNs, stream.endNs);
          work.reach(timeNs);
          this.#finish(stream, timeNs);
        } else if (work.step()) {
          this.#finish(stream, this.#clock.now());
        } else {
          paused.add(stream);
        }
        hasAdvanced = true;
      }
    }
    if (launchable !== null) this.#beginLaunch(launchable);
    return hasAdvanced;
  }

  #beginLaunch(stream: StreamQueue): void {
    const work = stream.head?.work;
    invariant(work?.kind === "launch", "a launch stands at the front");
    if (this.#running !== null || !this.#executor.isReady()) return;
    this.#running = stream;
    this.#executor.begin(work.launch);
  }

  #finish(stream: StreamQueue, endNs: number): void {
    stream.endNs = endNs;
    stream.shift();
    if (stream.head === null && stream.isClosed) this.#streams.delete(stream);
  }

  /** Goes on with a long copy in the next turn of the event loop. */
  #planTurn(): void {
    if (this.#isTurnPlanned) return;
    this.#isTurnPlanned = true;
    setImmediate(() => {
      this.#isTurnPlanned = false;
      this.pump();
    });
  }

  #runDeferred(): void {
    let oldest = Infinity;
    for (const { head } of this.#streams) oldest = Math.min(oldest, head?.ticket ?? Infinity);
    const due = this.#deferred.filter(({ ticket }) => ticket < oldest);
    if (due.length === 0) return;
    this.#deferred = this.#deferred.filter(({ ticket }) => ticket >= oldest);
    for (const { action } of due) action();
  }
}
