import type { DeviceMemory } from "./device-memory.ts";

/** One scratch area for each worker, side by side. */
export type ScratchAreas = {
  readonly address: number;
  /** From one worker's area to the next one's; what each may use. */
  readonly strideBytes: number;
};

/** Areas begin at multiples of this, which is more than compiled kernels ask for (64). */
const ALIGNMENT_BYTES = 256;

/**
 * The workers' scratch areas: kept from launch to launch, replaced when a launch needs more. A
 * queued launch keeps those it was queued with, so the old ones are released once it is through.
 */
export class ScratchMemory {
  readonly #memory: DeviceMemory;
  readonly #workers: number;
  readonly #releaseLater: (release: () => void) => void;
  #areas: ScratchAreas | null = null;

  /** `releaseLater` calls its argument when all that is queued now is done. */
  constructor(memory: DeviceMemory, workers: number, releaseLater: (release: () => void) => void) {
    this.#memory = memory;
    this.#workers = workers;
    this.#releaseLater = releaseLater;
  }

  /** Areas of at least `bytes` a worker; null when the address space has no room for them. */
  areas(bytes: number): ScratchAreas | null {
    const old = this.#areas;
    if (old !== null && old.strideBytes >= bytes) return old;
    const strideBytes = Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    const address = this.#memory.reserve(strideBytes * this.#workers);
    if (address === null) return null;
    if (old !== null) {
      this.#releaseLater(() => {
        this.#memory.release(old.address);
      });
    }
    this.#areas = { address, strideBytes };
    return this.#areas;
  }
}
