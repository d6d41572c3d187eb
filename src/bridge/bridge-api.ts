/** What a bridge is to those who start one, and what it tells of itself. */
import type { Clock, Log, Result } from "../base/mod.ts";
import type { ModuleReference, Owner } from "../owner/mod.ts";
import type { Mailbox } from "./mailbox.ts";

export type BridgeOptions = {
  readonly owner: Pick<Owner, "run" | "discover">;
  readonly mailboxes: readonly Mailbox[];
  /** Holds kernels/base.ptx, where ops 1 to 4 are. */
  readonly baseModule: ModuleReference;
  /** Folder for last sequence numbers; made where it is missing. Null: none are kept. */
  readonly stateDirectory: string | null;
  /** Fixed pause between polls; null: short while jobs come, longer while none do. */
  readonly pollUs: number | null;
  /** Takes the greppable line of each executed job, without its end of line. */
  readonly printJobLine: (line: string) => void;
  /** Takes everything else that an operator should see, a line an event. */
  readonly log: Log;
  readonly clock: Clock;
};

/** Counted since the start, per mailbox. */
export type MailboxCounters = {
  readonly jobs: number;
  /** Done records by status name, e.g. `ok`, `bad_size`. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Records that got no done record, by reason, e.g. `bad_magic`, `bad_crc`, `stale_seq`. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Times that a completed job's done record was written again for the same seq. */
  readonly repeated: number;
};

/** How one record ended: its status name, or why it got no done record. */
export type RecordOutcome =
  | { readonly kind: "done"; readonly status: string; readonly seq: bigint }
  | { readonly kind: "rejected"; readonly reason: string };

export type Bridge = {
  /** Serves until `stop`; resolves once nothing is under way. Rejects for bugs alone. */
  readonly run: () => Promise<void>;
  /**
   * Serves until one record was answered or rejected, in any mailbox; resolves with how. Null where
   * `stop` came before any record did.
   */
  readonly runOnce: () => Promise<RecordOutcome | null>;
  /** Takes no further jobs; those under way end and are answered. */
  readonly stop: () => void;
  readonly counters: () => ReadonlyMap<string, MailboxCounters>;
};

export type BridgeErrorCode =
  /** Another process serves this mailbox; the message names it. */
  | "mailbox_taken"
  /** Names or paths that clash, a die that is not there, a folder of modules that is none. */
  | "bad_mailbox";

export type BridgeError = { readonly code: BridgeErrorCode; readonly message: string };

/** Checks the mailboxes and takes them; starts nothing. */
export type CreateBridge = (options: BridgeOptions) => Result<Bridge, BridgeError>;
