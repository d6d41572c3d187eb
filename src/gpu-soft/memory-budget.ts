import { invariant } from "../base/mod.ts";

/**
 * How much of a device's memory is taken, by all of its contexts together: as on a real GPU, what
 * one context allocates is not free for another.
 */
export class MemoryBudget {
  readonly totalBytes: number;
  #freeBytes: number;

  constructor(totalBytes: number) {
    this.totalBytes = totalBytes;
    this.#freeBytes = totalBytes;
  }

  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Takes `bytes`, or nothing and returns false where so much is not free. */
  take(bytes: number): boolean {
    if (bytes > this.#freeBytes) return false;
    this.#freeBytes -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#freeBytes += bytes;
    invariant(this.#freeBytes <= this.totalBytes, "more was given back than taken");
  }
}
