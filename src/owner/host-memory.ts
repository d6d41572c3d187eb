/**
 * Host memory in pieces. No single view holds more than 1 GiB, so a payload or a guest's RAM lies
 * in several; whoever moves or checks bytes takes them piece by piece.
 */
import { NATIVE_VIEW_BYTES_MAX, ok, type Result } from "../base/mod.ts";
import type { GpuContext, GpuRefusal, HostBuffer } from "../gpu/mod.ts";

/** Bytes of host memory, in place. */
export type HostPiece = {
  readonly bytes: Uint8Array;
  /** The buffer that they lie in from `offset` on, for copies; null: copies must be staged. */
  readonly pinned: { readonly buffer: HostBuffer; readonly offset: number } | null;
};

/** Smallest part of an arena: below this, sizes differ too little to be worth an allocation. */
const PART_BYTES_MIN = 64 * 1024;

/** Larger parts grow by this much. */
const PART_STEP_BYTES = 64 * 1024 * 1024;

/**
 * Most that an arena keeps between jobs. What a rare larger job needs on top is given back, since
 * page-locked memory is lost to the rest of the machine; the usual ones never pay for it again
 * (400 ms a GiB).
 */
const KEPT_BYTES_MAX = NATIVE_VIEW_BYTES_MAX;

/**
 * Page-locked memory that one job at a time uses, from byte 0 on. It grows to the largest job and
 * is kept, since locking pages costs far more than copying them.
 */
export class PinnedArena {
  readonly #allocate: GpuContext["allocateHost"];
  /** Each but the last holds NATIVE_VIEW_BYTES_MAX bytes that are in use. */
  #parts: HostBuffer[] = [];

  constructor(allocate: GpuContext["allocateHost"]) {
    this.#allocate = allocate;
  }

  /** Makes room for `bytes` bytes; what the arena held is lost. Nothing may be copying it. */
  reserve(bytes: number): Result<void, GpuRefusal> {
    for (let index = 0; index * NATIVE_VIEW_BYTES_MAX < bytes; index++) {
      const neededBytes = Math.min(bytes - index * NATIVE_VIEW_BYTES_MAX, NATIVE_VIEW_BYTES_MAX);
      if ((this.#parts[index]?.bytes.length ?? 0) >= neededBytes) continue;
      for (const part of this.#parts.splice(index)) part.free();
      const part = this.#allocate(roundUp(neededBytes));
      if (!part.ok) return part;
      this.#parts.push(part.value);
    }
    return ok(undefined);
  }

  /** The pieces of a range, which must have been reserved. */
  pieces(offset: number, bytes: number): readonly HostPiece[] {
    return splitAtViews(offset, bytes).map(({ view, at, count }) => {
      const buffer = this.#parts[view];
      // A range that was never reserved is cut short here, which no caller can overlook.
      if (buffer === undefined) throw new RangeError(`${bytes} bytes at ${offset} of an arena`);
      return { bytes: buffer.bytes.subarray(at, at + count), pinned: { buffer, offset: at } };
    });
  }

  /** Gives back everything. Nothing may be copying it. */
  clear(): void {
    for (const part of this.#parts.splice(0)) part.free();
  }

  /** Gives back what is not kept between jobs. Nothing may be copying it. */
  trim(): void {
    for (const part of this.#parts.splice(KEPT_BYTES_MAX / NATIVE_VIEW_BYTES_MAX)) part.free();
  }
}

/**
 * Powers of two, so that jobs of slowly rising sizes make few allocations; and from where that
 * would waste too much, steps.
 */
const roundUp = (bytes: number): number =>
  bytes > PART_STEP_BYTES
    ? Math.ceil(bytes / PART_STEP_BYTES) * PART_STEP_BYTES
    : Math.max(PART_BYTES_MIN, 2 ** Math.ceil(Math.log2(bytes)));

/** A range as parts of views of NATIVE_VIEW_BYTES_MAX bytes each. */
export function splitAtViews(
  offset: number,
  bytes: number,
): readonly { readonly view: number; readonly at: number; readonly count: number }[] {
  const parts = [];
  for (let done = 0; done < bytes;) {
    const view = Math.floor((offset + done) / NATIVE_VIEW_BYTES_MAX);
    const at = offset + done - view * NATIVE_VIEW_BYTES_MAX;
    const count = Math.min(bytes - done, NATIVE_VIEW_BYTES_MAX - at);
    parts.push({ view, at, count });
    done += count;
  }
  return parts;
}
