// A producer for tests and benchmarks of the bridge: posts v2 jobs into a mailbox on plain files
// and waits for their done records.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";

import type { MailboxV2 } from "../src/bridge/mod.ts";
import { doneIn, mailboxV2In, place, recordV2 } from "../src/bridge/testing.ts";
import { statusName, type Cbd2Done, type Cubb2Job } from "../src/records/mod.ts";

/** Longest wait for a done record, on a loaded machine. */
const WAIT_MS_MAX = 30_000;

/** Turns of the event loop before a waiting producer begins to sleep between its looks. */
const TURNS_MAX = 200;

export type Answered = Cbd2Done & { readonly statusName: string };

export class Producer {
  readonly box: string;
  readonly mailbox: MailboxV2;
  seq = 0n;

  /** Makes the mailbox's folder in `folder`. */
  constructor(folder: string, more: Partial<MailboxV2> & { readonly name: string }) {
    this.box = join(folder, more.name);
    mkdirSync(this.box);
    this.mailbox = mailboxV2In(this.box, { timeoutMs: 20_000, ...more });
  }

  write(input: NodeJS.ArrayBufferView): void {
    writeFileSync(this.mailbox.in, input);
  }

  /** Posts the next job; sizes are those of its op, unless they are given. */
  post(op: number, n: number, more: Partial<Cubb2Job> = {}): void {
    this.seq += 1n;
    const [inputs, bytes] = [op === 2 || op === 3 ? 2n : 1n, 4n * BigInt(n)];
    const sizes = { n: BigInt(n), inBytes: inputs * bytes, outBytes: bytes };
    place(this.mailbox.job, recordV2({ seq: this.seq, op, ...sizes, ...more }));
  }

  isDone(): boolean {
    return doneIn(this.box)?.seq === this.seq;
  }

  /** Waits for the done record of the job that was posted last. */
  async done(): Promise<Answered> {
    const endMs = performance.now() + WAIT_MS_MAX;
    for (let turns = 0; ; turns++) {
      const done = doneIn(this.box);
      if (done?.seq === this.seq) return { ...done, statusName: statusName(done.status) };
      assert.ok(performance.now() < endMs, `no done record for job ${String(this.seq)}`);
      await (turns < TURNS_MAX ? setImmediate() : sleep(1));
    }
  }

  async run(op: number, n: number, more: Partial<Cubb2Job> = {}): Promise<Answered> {
    this.post(op, n, more);
    return this.done();
  }

  out(): Buffer {
    return readFileSync(this.mailbox.out);
  }
}
