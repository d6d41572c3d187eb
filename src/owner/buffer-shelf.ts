/**
 * Device memory that jobs have given back, kept for the next that wants as much: on a GPU, getting
 * and freeing memory takes longer than a small kernel.
 */
import type { Result } from "../base/mod.ts";
import type { DeviceBuffer, GpuContext, GpuRefusal } from "../gpu/mod.ts";

/** Most bytes that are kept. */
const KEPT_BYTES_MAX = 256 * 1024 * 1024;

/** Of a small device's memory, at most this share. */
const KEPT_SHARE = 1 / 16;

/** Most buffers that are kept, so that looking through them stays cheap. */
const KEPT_BUFFERS_MAX = 256;

export class BufferShelf {
  readonly #allocate: GpuContext["allocate"];
  readonly #keptBytesMax: number;
  /** The latest come last. */
  #kept: DeviceBuffer[] = [];
  #keptBytes = 0;

  constructor({ allocate, device }: Pick<GpuContext, "allocate" | "device">) {
    this.#allocate = allocate;
    this.#keptBytesMax = Math.min(KEPT_BYTES_MAX, device.memoryBytes * KEPT_SHARE);
  }

  /**
   * A buffer of exactly that size, with whatever was in it. What is kept is given up before the
   * device is said to be full.
   */
  take(bytes: number): Result<DeviceBuffer, GpuRefusal> {
    const index = this.#kept.findLastIndex((buffer) => buffer.bytes === bytes);
    const [held] = index < 0 ? [] : this.#kept.splice(index, 1);
    if (held !== undefined) {
      this.#keptBytes -= bytes;
      return { ok: true, value: held };
    }
    const made = this.#allocate(bytes);
    if (made.ok || made.error.code !== "out_of_memory" || this.#kept.length === 0) return made;
    this.clear();
    return this.#allocate(bytes);
  }

  /** Takes a buffer back. Whatever was queued for it is to be done, or on the one stream. */
  give(buffer: DeviceBuffer): void {
    if (buffer.bytes > this.#keptBytesMax) {
      buffer.free();
      return;
    }
    this.#kept.push(buffer);
    this.#keptBytes += buffer.bytes;
    while (this.#keptBytes > this.#keptBytesMax || this.#kept.length > KEPT_BUFFERS_MAX) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) return;
      this.#keptBytes -= oldest.bytes;
      oldest.free();
    }
  }

  /** Frees all that is kept; returns what that was. */
  clear(): readonly DeviceBuffer[] {
    const kept = this.#kept;
    this.#kept = [];
    this.#keptBytes = 0;
    for (const buffer of kept) buffer.free();
    return kept;
  }
}
