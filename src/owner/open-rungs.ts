/** The rungs that are under way: an owner that leaves in one of them says so in the journal. */
import type { Journal, JournalEntry } from "./journal.ts";

/** What the journal says of a rung in which its owner left. */
const LEFT = "the owner left before it had ended; nothing was wrong with it";

/** Writes to the journal given, and knows what was begun there and has not ended. */
export class OpenRungs implements Journal {
  readonly #journal: Journal;
  readonly #open = new Map<string, JournalEntry>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  readonly write: Journal["write"] = (entry) => {
    const key = `${String(entry.die)} ${entry.step}`;
    const written = this.#journal.write(entry);
    if (entry.phase !== "begin") this.#open.delete(key);
    else if (written.ok) this.#open.set(key, entry);
    return written;
  };

  /**
   * Ends what is open: without that, a machine that is started anew after a stop in good order
   * reads as one that the rung has reset.
   */
  leave(): void {
    for (const entry of [...this.#open.values()]) {
      this.write({ ...entry, phase: "failed", detail: LEFT });
    }
  }
}
