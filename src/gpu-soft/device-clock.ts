import { nowNs } from "./control-block.ts";

/**
 * The clock that events are read from: nanoseconds since the context was made. It stands still while
 * the workers start, because a kernel's time is not the time that it takes to make threads.
 */
export class DeviceClock {
  readonly #epochNs = nowNs();
  #stoodFromNs = 0;
  #stoodToNs = 0;

  /** Now, before the pause is taken out. */
  now(): number {
    return this.at(nowNs());
  }

  /** A time of the process's clock on this one, before the pause is taken out. */
  at(timeNs: bigint): number {
    return Number(timeNs - this.#epochNs);
  }

  /** Takes the time between the two out of all measurements. */
  stoodStill(fromNs: number, toNs: number): void {
    this.#stoodFromNs = fromNs;
    this.#stoodToNs = toNs;
  }

  /** Nanoseconds between two times of `now` or `at`. */
  elapsedNs(startNs: number, endNs: number): number {
    return this.#running(endNs) - this.#running(startNs);
  }

  #running(timeNs: number): number {
    if (timeNs <= this.#stoodFromNs) return timeNs;
    return Math.max(timeNs, this.#stoodToNs) - (this.#stoodToNs - this.#stoodFromNs);
  }
}
