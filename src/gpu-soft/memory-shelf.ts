import { DeviceMemory } from "./device-memory.ts";

/** Memories to keep; one more context closed at a time is left to the garbage collector. */
const SHELF_MAX = 4;

/**
 * Keeps the memories of closed contexts for the next ones. To the garbage collector a memory of
 * gigabytes is one small object, so a process that opens and closes contexts would grow without end.
 */
export class MemoryShelf {
  readonly #idle: DeviceMemory[] = [];

  /** A memory in which nothing is allocated. Throws RangeError when the machine has none left. */
  take(): DeviceMemory {
    return this.#idle.pop() ?? new DeviceMemory();
  }

  /** Takes a memory back that no thread uses any more. */
  give(memory: DeviceMemory): void {
    if (this.#idle.length >= SHELF_MAX) return;
    memory.reset();
    this.#idle.push(memory);
  }
}
