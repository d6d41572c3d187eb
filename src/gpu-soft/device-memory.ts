import { invariant } from "../base/mod.ts";
import { GRANULE_BYTES } from "../ptx/mod.ts";
import {
  ADDRESS_SPACE_BYTES,
  GRANULES_ADDRESS,
  HEAP_END,
  HEAP_START,
  PAGE_BYTES,
} from "./address-map.ts";
import { memoryFill, type MemoryFill } from "./memory-fill.ts";
import { RegionAllocator } from "./region-allocator.ts";

/** The memory grows by at least this much, because each step costs a system call. */
const GROWTH_BYTES = 16 * 1024 * 1024;

/** A live allocation: what a kernel may touch. `bytes` is what was asked for. */
export type Allocation = { readonly address: number; readonly bytes: number };

/**
 * A context's memory: one shared WebAssembly.Memory, the heap in it, and the granule table that says
 * to compiled kernels which bytes are theirs.
 *
 * An allocation is in the table to the byte, from the moment it is made until it is freed. What the
 * runtime reserves for itself (scratch areas) is never in the table, so a stray pointer cannot reach
 * it. Memory handed out is zero: CUDA promises no such thing, but so every run gives the same bytes,
 * and nobody reads what an earlier owner left.
 */
export class DeviceMemory {
  readonly memory: WebAssembly.Memory;
  #heap = new RegionAllocator(HEAP_START, HEAP_END);
  readonly #allocations = new Map<number, Allocation>();
  readonly #fill: MemoryFill;
  #bytes: Uint8Array<SharedArrayBuffer>;
  /** No byte from here on was ever handed out; so all of them are still zero. */
  #untouched = HEAP_START;

  /** Throws RangeError when the machine has no address space left for it. */
  constructor() {
    this.memory = new WebAssembly.Memory({
      initial: HEAP_START / PAGE_BYTES,
      maximum: ADDRESS_SPACE_BYTES / PAGE_BYTES,
      shared: true,
    });
    this.#bytes = bytesOf(this.memory);
    this.#fill = memoryFill(this.memory);
  }

  /** The memory as it is now; after it has grown, an older view is too short. */
  get bytes(): Uint8Array<SharedArrayBuffer> {
    return this.#bytes;
  }

  /** Makes an allocation of `bytes` zeros, aligned to 256; null when there is no room. */
  allocate(bytes: number): Allocation | null {
    const address = this.#take(bytes);
    if (address === null) return null;
    this.#setGranules(address, bytes);
    const allocation = { address, bytes };
    this.#allocations.set(address, allocation);
    return allocation;
  }

  free(allocation: Allocation): void {
    const { address, bytes } = allocation;
    invariant(this.#allocations.delete(address), `no allocation starts at ${address}`);
    this.#clearGranules(address, bytes);
    this.#heap.give(address);
  }

  /** Reserves zeroed memory that no kernel may touch through a pointer; null: no room. */
  reserve(bytes: number): number | null {
    return this.#take(bytes);
  }

  release(address: number): void {
    invariant(!this.#allocations.has(address), "an allocation is freed, not released");
    this.#heap.give(address);
  }

  /** Forgets everything that is allocated or reserved; for a new owner. */
  reset(): void {
    for (const { address, bytes } of this.#allocations.values())
      this.#clearGranules(address, bytes);
    this.#allocations.clear();
    this.#heap = new RegionAllocator(HEAP_START, HEAP_END);
  }

  fill(address: number, bytes: number, value: number): void {
    this.#fill(address, value, bytes);
  }

  largestFreeBytes(): number {
    return this.#heap.largestFreeBytes();
  }

  /** The live allocation that starts last at or below the address; for messages only. */
  nearestBelow(address: number): Allocation | null {
    let nearest: Allocation | null = null;
    for (const each of this.#allocations.values()) {
      if (each.address <= address && each.address >= (nearest?.address ?? 0)) nearest = each;
    }
    return nearest;
  }

  #take(bytes: number): number | null {
    const region = this.#heap.take(bytes);
    if (region === null) return null;
    const { address } = region;
    const end = address + region.bytes;
    if (!this.#growTo(end)) {
      this.#heap.give(address);
      return null;
    }
    const used = Math.min(end, this.#untouched);
    if (address < used) this.fill(address, used - address, 0);
    this.#untouched = Math.max(this.#untouched, end);
    return address;
  }

  /** Makes the memory reach to `end`; false when the machine refuses. */
  #growTo(end: number): boolean {
    const missing = end - this.#bytes.length;
    if (missing <= 0) return true;
    const room = ADDRESS_SPACE_BYTES - this.#bytes.length;
    const wished = Math.min(Math.max(missing, GROWTH_BYTES), room);
    try {
      this.memory.grow(Math.ceil(wished / PAGE_BYTES));
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    this.#bytes = bytesOf(this.memory);
    return true;
  }

  #setGranules(address: number, bytes: number): void {
    const first = GRANULES_ADDRESS + address / GRANULE_BYTES;
    const whole = Math.floor(bytes / GRANULE_BYTES);
    this.fill(first, whole, GRANULE_BYTES);
    const rest = bytes % GRANULE_BYTES;
    if (rest > 0) this.#bytes[first + whole] = rest;
  }

  #clearGranules(address: number, bytes: number): void {
    this.fill(GRANULES_ADDRESS + address / GRANULE_BYTES, Math.ceil(bytes / GRANULE_BYTES), 0);
  }
}

function bytesOf(memory: WebAssembly.Memory): Uint8Array<SharedArrayBuffer> {
  const { buffer } = memory;
  invariant(buffer instanceof SharedArrayBuffer, "device memory is shared");
  return new Uint8Array(buffer);
}
