/** What a mailbox counts. */
import type { MailboxCounters } from "./bridge-api.ts";

export class CounterTally {
  #jobs = 0;
  #repeated = 0;
  readonly #statuses = new Map<string, number>();
  readonly #rejected = new Map<string, number>();

  /** A job's done record was written for the first time. */
  answered(status: string): void {
    this.#jobs += 1;
    increment(this.#statuses, status);
  }

  repeated(): void {
    this.#repeated += 1;
  }

  rejected(reason: string): void {
    increment(this.#rejected, reason);
  }

  /** As they are now. */
  read(): MailboxCounters {
    return {
      jobs: this.#jobs,
      repeated: this.#repeated,
      statuses: Object.fromEntries(this.#statuses),
      rejected: Object.fromEntries(this.#rejected),
    };
  }
}

const increment = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);
