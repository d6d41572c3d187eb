/** Counts what went wrong on a die or a board, by name. It is never latched, only remembered. */
import type { FaultCount } from "./reports.ts";

/** The same line again within this time, in milliseconds, is one: drivers repeat themselves. */
export const FAULT_REPEAT_MS = 5_000;

/** Names that are kept; the one that was longest not seen goes first. */
export const FAULT_NAMES_MAX = 16;

/** Longest text of a fault: what the kernel's log has in a line. */
const TEXT_CHARACTERS_MAX = 300;

export class FaultCounts {
  /** In the order in which they were last seen. */
  readonly #faults = new Map<string, FaultCount>();

  /** Returns false where it is the same as just before, and was not counted. */
  add(name: string, text: string, atMs: number): boolean {
    const before = this.#faults.get(name);
    const told = text.slice(0, TEXT_CHARACTERS_MAX);
    const isRepeated =
      before !== undefined && before.text === told && atMs - before.atMs < FAULT_REPEAT_MS;
    if (isRepeated) return false;
    this.#faults.delete(name);
    this.#faults.set(name, { name, count: (before?.count ?? 0) + 1, text: told, atMs });
    const [oldest] = this.#faults.keys();
    if (this.#faults.size > FAULT_NAMES_MAX && oldest !== undefined) this.#faults.delete(oldest);
    return true;
  }

  /** The latest first. */
  list(): readonly FaultCount[] {
    return [...this.#faults.values()].reverse();
  }
}
