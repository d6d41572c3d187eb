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

  constructor(core: ContextCore) {
    this.#core = core;
  }

  /** As with CUDA, an event that was never recorded counts as reached. */
  isReached = (): boolean => {
    this.#core.check("cuEventQuery");
    return this.#reached === this.#recorded;
  };

  elapsedNs = (start: GpuEvent): number => {
    this.#core.check("cuEventElapsedTime");
    invariant(start instanceof SoftEvent && start.#core === this.#core, "event of another context");
    return this.#core.clock.elapsedNs(start.#time(), this.#time());
  };

  close = (): void => {
    // An event holds nothing but itself.
  };

  /** Notes a record that was queued; call what it returns when the stream comes to it. */
  static record(event: GpuEvent, core: ContextCore): (timeNs: number) => void {
    invariant(event instanceof SoftEvent && event.#core === core, "event of another context");
    event.#recorded += 1;
    const record = event.#recorded;
    return (timeNs) => {
      event.#reached = record;
      event.#timeNs = timeNs;
    };
  }

  #time(): number {
    invariant(this.#recorded > 0, "only a recorded event has a time");
    invariant(this.#reached === this.#recorded, "only a reached event has a time");
    return this.#timeNs;
  }
}
