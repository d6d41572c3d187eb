/**
 * A mailbox: the files through which one producer (a guest's kernel module, a script) hands over
 * job records and gets done records back. A bridge serves one or more of them.
 */
import type { CheckExtent } from "../owner/mod.ts";

/** `auto`: every element up to 1 Mi of them, a sample above (DESIGN section 6, rule 7). */
export type VerifyMode = CheckExtent | "auto";

type MailboxBase = {
  /** What log lines and counters call it; `[A-Za-z0-9_.-]{1,64}`, unique in a daemon. */
  readonly name: string;
  /** Absolute, as all paths here. None of the files need exist yet. */
  readonly job: string;
  readonly done: string;
  /** Used where a record's flags do not say otherwise. */
  readonly verify: VerifyMode;
  /** Dies that may run its jobs; null: all that are discovered. */
  readonly dies: readonly number[] | null;
  /** For a record whose timeout_ms is 0. */
  readonly timeoutMs: number;
  /** A record that asks for longer gets this. */
  readonly timeoutMaxMs: number;
  /** Begin from no last sequence number: what the done file and the state folder say is ignored. */
  readonly forgetSequence: boolean;
};

/** CUBB2 records in, CBD2 records out, payload in two files. */
export type MailboxV2 = MailboxBase & {
  readonly version: 2;
  readonly in: string;
  readonly out: string;
  /** Folder of `NAME.ptx` files that op 256 may launch; null: op 256 is an unknown kernel. */
  readonly modules: string | null;
};

/** CUBB records in, CUBD records out, operands and results in the guest's RAM file. */
export type MailboxV1 = MailboxBase & {
  readonly version: 1;
  readonly ram: string;
  /** RAM below the PCI hole; the rest of the file lies from 4 GiB on. */
  readonly ramLowBytes: number;
};

export type Mailbox = MailboxV1 | MailboxV2;
