/**
 * What a step process is asked to do, and what it answers: one line of JSON each way, one step at
 * a time. A step is a call that can hang with the hardware: it is made where it may be left behind.
 */
import type { Presence } from "./board.ts";

/** What each step is given and what it gives; 64-bit numbers are decimal text. Paths lie under the
 * root folder of the process. */
export type StepCalls = {
  /** Writes the text in one call, into a file that is there. */
  readonly write: { request: { path: string; text: string }; reply: object };
  readonly read: { request: { path: string }; reply: { text: string } };
  /** Asks a PCI function, by its name in sysfs, whether it answers. */
  readonly presence: { request: { name: string }; reply: { presence: Presence } };
  /** Runs a program, e.g. modprobe, and waits for it. */
  readonly program: {
    request: { path: string; args: readonly string[] };
    reply: { status: number | null; signal: string | null; output: string };
  };
  /** The slot's calls: include/holdfast/bar_swap.h. The device is opened by the first of them. */
  readonly slotQuery: { request: object; reply: SlotQuery };
  readonly slotDie: { request: { die: number }; reply: SlotDie };
  /**
   * RELEASE of the die in the slot, where it is another one, and ACQUIRE. One step, so that an
   * owner that ends in the middle does not leave the slot free.
   */
  readonly slotMove: { request: { from: number | null; to: number }; reply: SlotMove };
  /** Bytes of BAR1 of the die in the slot, in base64. */
  readonly slotRead: { request: { offset: number; bytes: number }; reply: { bytes: string } };
};

export type SlotQuery = {
  readonly version: number;
  readonly dieCount: number;
  /** Null where the slot is free. */
  readonly occupant: number | null;
  /** Who acquired it; null: nobody is known. 0 or less: it lives and has no number here. */
  readonly holderPid: number | null;
  readonly acquires: string;
};

export type SlotDie = { readonly address: string; readonly bar1Bytes: string };
export type SlotBar = { readonly bar1Address: string; readonly bar1Bytes: string };

export type SlotMove =
  | { readonly bar: SlotBar }
  /** It could not be acquired. `lost`: nor could the one before, which was released for it. */
  | { readonly refused: StepError; readonly lost: StepError | null };

export type StepCall = keyof StepCalls;

/** A step that the system turned down. */
export type StepError = {
  /** errno's name, e.g. `EBUSY`; `UNKNOWN` where it has none here. */
  readonly code: string;
  readonly errno: number;
  /** Which call and file, and the system's words: `write …/bind: EBUSY (errno 16)`. */
  readonly message: string;
};

export type StepQuestion = { readonly id: number; readonly call: StepCall; readonly body: unknown };
/** The first line of a step process, once it takes questions. */
export type StepReady = { readonly ready: true };
export type StepAnswer =
  | { readonly id: number; readonly reply: unknown }
  | { readonly id: number; readonly error: StepError };

/** Most bytes of BAR1 that are read at once: a look at it, and no way to move data. */
export const SLOT_READ_BYTES_MAX = 1024 * 1024;
