/**
 * One mailbox's life: a record is seen, judged, run and answered, one at a time. It is polled by
 * whoever serves it; while its job runs it is not.
 */
import { statSync } from "node:fs";

import { fileCall, FileError, InvariantError, type Clock } from "../base/mod.ts";
import type { Job, JobResult } from "../owner/mod.ts";
import type { RecordOutcome } from "./bridge-api.ts";
import { DoneOutbox } from "./done-outbox.ts";
import { endingOf, refusedEnding, type Ending } from "./ending.ts";
import { isSameContent } from "./file-identity.ts";
import { placementOf } from "./file-placement.ts";
import type { Mailbox } from "./mailbox.ts";
import { CounterTally } from "./mailbox-counters.ts";
import type { NoticeLog } from "./notice-log.ts";
import type { CompletedJob, PostedJob, Protocol } from "./protocol.ts";
import { RecordReader, type Sighting } from "./record-reader.ts";
import { isHeldBack, isLeaving } from "./result-status.ts";
import { decideSequence } from "./sequence.ts";
import { SequenceMemory } from "./sequence-memory.ts";

/** Between two looks at a done file that should still be there. */
const DONE_CHECK_MS = 10;

/**
 * How long a done file may be another than we wrote before it is written again. A producer that
 * removes it and then posts its next job must not find the old one in between.
 */
export const LOST_DONE_MS = 50;

/**
 * Bad content that comes this soon after other bad content is no activity: a producer that writes
 * nothing else, and a device that never runs dry, cost a look after ever longer pauses, not a core.
 */
export const BAD_APART_MS = 10;

/** Between two tries of a job that the owner does not take for now. */
export const HELD_BACK_MS = 100;

export type MailboxServerOptions = {
  readonly mailbox: Mailbox;
  readonly protocol: Protocol;
  readonly statePath: string | null;
  /** Runs the job on a die of the mailbox. */
  readonly run: (job: Job) => Promise<JobResult>;
  readonly clock: Clock;
  readonly notices: NoticeLog;
  readonly printJobLine: (line: string) => void;
  readonly onOutcome: (outcome: RecordOutcome) => void;
  /** A job ended, so that the mailbox can be polled again. */
  readonly onIdle: () => void;
  /** The owner is going away. */
  readonly onLeaving: () => void;
  /** An invariant was broken; the job under way is answered already. */
  readonly onBug: (bug: InvariantError) => void;
};

export class MailboxServer {
  readonly counters = new CounterTally();
  readonly #options: MailboxServerOptions;
  readonly #reader: RecordReader;
  readonly #memory: SequenceMemory;
  readonly #outbox: DoneOutbox;
  #running: Promise<void> | null = null;
  /** Bad content of a plain file, that may be a record half written. */
  #suspect: Buffer | null = null;
  /** When bad content was seen last. */
  #badMs = Number.NEGATIVE_INFINITY;
  /** What the job file holds is the last job, and was answered. */
  #isAnswered = false;
  /** Since when the done file is not what we wrote; null where it is. */
  #lostSinceMs: number | null = null;
  #doneCheckMs = 0;
  #unreadable: string | null = null;
  /** Until when nothing is looked at: the owner takes no work for now. */
  #heldBackUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: MailboxServerOptions) {
    const { mailbox, protocol, statePath, notices, clock } = options;
    this.#options = options;
    this.#reader = new RecordReader(mailbox.job, protocol.recordBytes, clock.nowMs);
    this.#outbox = new DoneOutbox(mailbox.done, { clock, notices });
    this.#memory = new SequenceMemory({
      statePath,
      protocol,
      notices,
      donePath: mailbox.done,
      isForgetful: mailbox.forgetSequence,
    });
  }

  /** True while its job runs; it is not polled then. */
  isRunning(): boolean {
    return this.#running !== null;
  }

  /** Settles once no job runs. */
  settled(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Looks once, and does what there is to do. True where more is to be expected soon. */
  poll(): boolean {
    if (this.#outbox.waiting() !== null && this.#isStillOurs()) this.#outbox.retry();
    if (this.#options.clock.nowMs() < this.#heldBackUntilMs) return false;
    const look = this.#reader.look();
    if (look.kind !== "new") this.#suspect = null;
    if (look.kind !== "unreadable" && look.kind !== "idle") this.#tellReadable();
    switch (look.kind) {
      case "idle":
        return false;
      case "same":
        return this.#checkDone();
      case "changing":
        return this.#isBadAfterPause();
      case "unreadable":
        this.#tellUnreadable(look.error);
        return false;
      case "new":
        return this.#receive(look.sighting);
    }
  }

  /** Tries a last time to write what waits. */
  finish(): void {
    if (this.#outbox.waiting() !== null && this.#isStillOurs()) this.#outbox.tryNow();
    const waiting = this.#outbox.waiting();
    if (waiting === null) return;
    const text = "stopped before its done record could be written";
    this.#options.notices.line(`${waiting.label}: ${text}`);
  }

  #receive(sighting: Sighting): boolean {
    this.#lostSinceMs = null;
    const read = this.#options.protocol.read(sighting.bytes);
    if (!read.ok) {
      if (this.#mayBeHalf(sighting)) return this.#isBadAfterPause();
      return this.#reject(sighting, read.error.reason, read.error.message);
    }
    this.#suspect = null;
    if (!this.#memory.refresh()) return false;
    const posted = read.value;
    const last = this.#memory.last();
    switch (decideSequence(last?.seq ?? null, posted)) {
      case "unnumbered":
        return this.#reject(sighting, "bad_seq", "seq is 0: sequence numbers begin at 1");
      case "stale": {
        const { staleMend } = this.#options.protocol;
        const than = `the last one, ${String(last?.seq)}: ${staleMend}`;
        const text = `${posted.label} is older than ${than}`;
        return this.#reject(sighting, "stale_seq", text);
      }
      case "repeat":
        this.#settle(sighting, true);
        if (last !== null) this.#repeat(last, posted.label);
        break;
      case "run":
        this.#settle(sighting, true);
        this.#dropWaiting("another job was posted");
        this.#start(posted);
    }
    return true;
  }

  /** True for bad content of a plain file, seen for the first time: it may yet grow whole. */
  #mayBeHalf({ bytes, isPlain }: Sighting): boolean {
    if (!isPlain || this.#suspect?.equals(bytes) === true) return false;
    this.#suspect = bytes;
    return true;
  }

  #settle(sighting: Sighting, isAnswered: boolean): void {
    this.#reader.settle(sighting);
    this.#isAnswered = isAnswered;
    this.#suspect = null;
  }

  /** True where that counts as activity. */
  #reject(sighting: Sighting, reason: string, text: string): boolean {
    const { notices, onOutcome } = this.#options;
    this.#settle(sighting, false);
    this.counters.rejected(reason);
    const content = `${reason} ${sighting.bytes.toString("latin1")}`;
    notices.tell(content, `${reason}, not answered: ${text}`);
    onOutcome({ kind: "rejected", reason });
    return this.#isBadAfterPause();
  }

  /** True for the first bad content in a while. */
  #isBadAfterPause(): boolean {
    const beforeMs = this.#badMs;
    this.#badMs = this.#options.clock.nowMs();
    return this.#badMs - beforeMs > BAD_APART_MS;
  }

  /** Writes the last done record again, unless it still waits to be written at all. */
  #repeat({ seq, status, done }: CompletedJob, label: string): void {
    if (this.#outbox.waiting()?.seq === seq) return;
    this.#outbox.post({
      seq,
      done,
      label,
      onWritten: () => {
        this.counters.repeated();
        const text = "was posted again; its done record is written again";
        this.#options.notices.tell(`repeat ${String(seq)}`, `${label} ${text}`);
        this.#options.onOutcome({ kind: "done", status, seq });
      },
    });
  }

  #start(posted: PostedJob): void {
    this.#running = this.#serve(posted).finally(() => {
      this.#running = null;
      this.#options.onIdle();
    });
  }

  async #serve(posted: PostedJob): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.nowMs();
    const generation = this.#memory.generation();
    let ending: Ending | null;
    try {
      ending = await this.#execute(posted);
    } catch (error) {
      // Answered all the same: a job that is not would be run again by every daemon after this one.
      ending = this.#unforeseen(posted, error);
    }
    if (ending === null) {
      this.#reader.forget();
      return;
    }
    const wallNs = Math.round((clock.nowMs() - startMs) * 1e6);
    this.#memory.refresh();
    if (this.#memory.generation() === generation) this.#answer(posted, { ...ending, wallNs });
    else this.#drop(posted.label, "its mailbox was made anew while it ran");
  }

  /** Null where the job was not run to its end because the owner stops, or is going away. */
  async #execute(posted: PostedJob): Promise<Ending | null> {
    const admitted = await posted.admit();
    if (!admitted.ok) return refusedEnding(admitted.error);
    const result = await this.#options.run(admitted.value);
    if (result.status !== "ok" && isLeaving(result.cause)) {
      this.#options.onLeaving();
      return null;
    }
    if (result.status === "refused" && isHeldBack(result.cause)) {
      const { clock, notices } = this.#options;
      this.#heldBackUntilMs = clock.nowMs() + HELD_BACK_MS;
      const { name, message } = result.cause;
      notices.tell(`${name} ${posted.label}`, `${posted.label} waits unanswered: ${message}`);
      return null;
    }
    return endingOf(admitted.value, result);
  }

  #unforeseen(posted: PostedJob, error: unknown): Ending {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#options.notices.line(`${posted.label}: bug: ${text}`);
    if (error instanceof InvariantError) this.#options.onBug(error);
    return refusedEnding({ status: "internal", reason: "a bug of the daemon; its log tells more" });
  }

  /** The output is written: the state follows, then the done record, then the line. */
  #answer(posted: PostedJob, ending: Ending & { readonly wallNs: number }): void {
    const { seq, label } = posted;
    const { status, reason } = ending;
    const done = posted.encodeDone(ending);
    this.#memory.complete({ seq, status, done });
    this.#outbox.post({
      seq,
      done,
      label,
      onWritten: () => {
        this.counters.answered(status);
        this.#options.printJobLine(posted.line(ending));
        if (reason !== null) this.#options.notices.line(`${label}: ${status}: ${reason}`);
        this.#options.onOutcome({ kind: "done", status, seq });
      },
    });
  }

  /**
   * False where the answer that waits was for a mailbox that is gone; it is dropped then. One whose
   * folder is away may come back with it.
   */
  #isStillOurs(): boolean {
    const generation = this.#memory.generation();
    if (!this.#memory.refresh()) return false;
    if (this.#memory.generation() === generation) return true;
    this.#dropWaiting("its mailbox was made anew");
    return false;
  }

  #dropWaiting(why: string): void {
    const waiting = this.#outbox.waiting();
    if (waiting === null) return;
    this.#outbox.drop();
    this.#drop(waiting.label, why);
  }

  #drop(label: string, why: string): void {
    this.counters.rejected("done_unwritten");
    this.#options.notices.line(`${label}: its done record was dropped unwritten: ${why}`);
  }

  /** Sees to it that an answered job's done record is there for as long as the job is. */
  #checkDone(): boolean {
    if (!this.#isAnswered || this.#outbox.waiting() !== null) return false;
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - this.#doneCheckMs < DONE_CHECK_MS) return false;
    this.#doneCheckMs = nowMs;
    if (!this.#isDoneLost()) {
      this.#lostSinceMs = null;
      return false;
    }
    this.#lostSinceMs ??= nowMs;
    if (nowMs - this.#lostSinceMs < LOST_DONE_MS) return false;
    this.#lostSinceMs = null;
    this.#reader.forget();
    return true;
  }

  /** True where a plain done file is no longer what we put there. */
  #isDoneLost(): boolean {
    const placed = this.#outbox.placed();
    const path = this.#options.mailbox.done;
    if (placed === null) return false;
    try {
      const stats = fileCall("stat", path, () => statSync(path, { throwIfNoEntry: false }));
      if (stats !== undefined && isSameContent(placed, stats)) return false;
      return placementOf(path) === "rename";
    } catch (error) {
      if (error instanceof FileError) return false;
      throw error;
    }
  }

  #tellUnreadable(error: FileError): void {
    if (this.#unreadable === error.code) return;
    this.#unreadable = error.code;
    this.#options.notices.line(`the job file cannot be read: ${error.message}`);
  }

  #tellReadable(): void {
    if (this.#unreadable === null) return;
    this.#unreadable = null;
    this.#options.notices.line("the job file can be read again");
  }
}
