/** A clock that runs as fast as its work is done: minutes of waiting take no time at all. */
import type { EventClock } from "./clock.ts";

type Event = { readonly atMs: number; readonly order: number; readonly action: () => void };

export type VirtualRun =
  /** What was waited for came true. */
  | "done"
  /** Nothing is planned any more, and it did not. */
  | "idle"
  /** The time limit came first. */
  | "late";

/**
 * Time moves only in `run`, to the next planned event once all promises have settled; events of one
 * instant run in the order in which they were planned. So a program whose every wait is on this
 * clock runs the same way each time.
 */
export class VirtualClock implements EventClock {
  #nowMs = 0;
  #planned = 0;
  /** A binary heap: the earliest event is first. */
  readonly #events: Event[] = [];
  readonly #cancelled = new WeakSet<Event>();

  readonly nowMs = (): number => this.#nowMs;

  readonly sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => void this.after(ms, resolve));

  /** Of no length. Who waits turn by turn for something to happen later is to sleep instead. */
  readonly turn = (): Promise<void> => this.sleep(0);

  readonly movesByItself = false;

  readonly after = (ms: number, action: () => void): (() => void) => {
    this.#planned += 1;
    const event = { atMs: this.#nowMs + Math.max(ms, 0), order: this.#planned, action };
    this.#push(event);
    return () => void this.#cancelled.add(event);
  };

  readonly afterInBackground = (ms: number, action: () => void): (() => void) =>
    this.after(ms, action);

  /** Runs events until `isDone`, at most up to the time `limitMs`. */
  async run(isDone: () => boolean, limitMs: number): Promise<VirtualRun> {
    for (;;) {
      await allSettled();
      if (isDone()) return "done";
      const event = this.#pop();
      if (event === undefined) return "idle";
      if (this.#cancelled.has(event)) continue;
      if (event.atMs > limitMs) {
        this.#push(event);
        return "late";
      }
      this.#nowMs = event.atMs;
      event.action();
    }
  }

  #push(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, events[parent])) break;
      swap(events, at, parent);
      at = parent;
    }
  }

  #pop(): Event | undefined {
    const events = this.#events;
    const [first] = events;
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    events[0] = last;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      const child = isBefore(events[left + 1], events[left]) ? left + 1 : left;
      if (!isBefore(events[child], last)) return first;
      swap(events, at, child);
      at = child;
    }
  }
}

const isBefore = (a: Event | undefined, b: Event | undefined): boolean =>
  a !== undefined &&
  (b === undefined || a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));

function swap(events: Event[], a: number, b: number): void {
  const held = events[a] as Event;
  events[a] = events[b] as Event;
  events[b] = held;
}

/** Every promise that can go on has done so by the event loop's next turn. */
const allSettled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
