import { invariant } from "../base/mod.ts";
import type { GpuEvent } from "../gpu/mod.ts";
import type { ContextCore } from "./context-core.ts";

/** A point in a stream, and when the stream came there. */
export class SoftEvent implements GpuEvent {
  readonly #core: ContextCore;
  /** Counts records; an event may be recorded again, and then only the last one counts. */
  #recorded = 0;
  #reached = 0;
  #timeNs = 0;
  #isClosed = false;

  constructor(core: ContextCore) {
    this.#core = core;
  }

  /** As with CUDA, an event that was never recorded counts as reached. */
  isReached = (): boolean => {
    this.#check("cuEventQuery");
    return this.#reached === this.#recorded;
  };

  elapsedNs = (start: GpuEvent): number => {
    this.#check("cuEventElapsedTime");
    invariant(start instanceof SoftEvent && start.#core === this.#core, "event of another context");
    return this.#core.clock.elapsedNs(start.#time(), this.#time());
  };

  close = (): void => {
    invariant(!this.#isClosed, "an event is closed once");
    this.#isClosed = true;
  };

  /** Notes a record that was queued; call what it returns when the stream comes to it. */
  static record(event: GpuEvent, core: ContextCore): (timeNs: number) => void {
    invariant(event instanceof SoftEvent && event.#core === core, "event of another context");
    invariant(!event.#isClosed, "a closed event is recorded no more");
    event.#recorded += 1;
    const record = event.#recorded;
    return (timeNs) => {
      event.#reached = record;
      event.#timeNs = timeNs;
    };
  }

  #check(call: string): void {
    invariant(!this.#isClosed, `${call} on a closed event`);
    this.#core.check(call);
  }

  #time(): number {
    invariant(this.#recorded > 0, "only a recorded event has a time");
    invariant(this.#reached === this.#recorded, "only a reached event has a time");
    return this.#timeNs;
  }
}
