import { invariant } from "../base/mod.ts";
import type { DeviceBuffer, DeviceRange, HostBuffer } from "../gpu/mod.ts";
import type { ContextCore } from "./context-core.ts";
import type { Allocation } from "./device-memory.ts";

/** Device memory: a part of the context's linear memory; the address is its offset there. */
export class SoftBuffer implements DeviceBuffer {
  readonly address: bigint;
  readonly bytes: number;
  readonly #core: ContextCore;
  readonly #allocation: Allocation;
  #isFreed = false;

  constructor(core: ContextCore, allocation: Allocation) {
    this.#core = core;
    this.#allocation = allocation;
    this.address = BigInt(allocation.address);
    this.bytes = allocation.bytes;
  }

  free = (): void => {
    invariant(!this.#isFreed, `the buffer at ${this.#allocation.address} is freed once`);
    this.#isFreed = true;
    this.#core.free(this.#allocation);
  };

  /** Where a range of a buffer of this context lies; a range that is not inside is a bug. */
  static addressOf(range: DeviceRange, core: ContextCore): number {
    const { buffer, offset, bytes } = range;
    invariant(buffer instanceof SoftBuffer && buffer.#core === core, "buffer of another context");
    invariant(!buffer.#isFreed, `use of a freed buffer at ${buffer.#allocation.address}`);
    checkInside("device buffer", buffer.bytes, offset, bytes);
    return buffer.#allocation.address + offset;
  }
}

/**
 * Ordinary memory: the software GPU's copies are the processor's own, so nothing need be locked.
 */
export class SoftHostBuffer implements HostBuffer {
  readonly bytes: Uint8Array;
  #isFreed = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  free = (): void => {
    invariant(!this.#isFreed, "a host buffer is freed once");
    this.#isFreed = true;
  };

  get isFreed(): boolean {
    return this.#isFreed;
  }
}

/** A part of a host buffer, as a view of its bytes; a part that is not inside is a bug. */
export function hostPart(host: HostBuffer, offset: number, bytes: number): Uint8Array {
  invariant(host instanceof SoftHostBuffer && !host.isFreed, "use of a live host buffer");
  checkInside("host buffer", host.bytes.length, offset, bytes);
  return host.bytes.subarray(offset, offset + bytes);
}

function checkInside(what: string, size: number, offset: number, bytes: number): void {
  const isWhole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
  invariant(
    isWhole && offset >= 0 && bytes >= 0 && offset + bytes <= size,
    `${bytes} bytes at offset ${offset} lie in a ${what} of ${size} bytes`,
  );
}
