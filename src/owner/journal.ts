/**
 * The bring-up journal: a line on disk before each step that can hang or crash the host, so that
 * what wedged is named after a reboot (DESIGN section 4, invariant 4).
 */
import { ok, type Result } from "../base/mod.ts";
import type { SlotKind } from "../board/mod.ts";

/** The rungs of the bring-up ladder, in the order in which a first die and a second one climb. */
export const BRING_UP_STEPS = [
  ...["discover", "acquire", "block-all-except", "load-driver", "unblock", "bind"],
  ...["initialise", "ordinals", "context", "module", "buffers", "probe", "work", "read", "swap"],
] as const satisfies readonly string[];

/** A rung of the bring-up ladder. */
export type BringUpStep = (typeof BRING_UP_STEPS)[number];

const DESCRIPTIONS: Readonly<Record<BringUpStep, string>> = {
  discover: "looking for dies",
  acquire: "acquiring the slot",
  "block-all-except": "blocking every other die by driver_override",
  "load-driver": "loading nvidia, once",
  unblock: "unblocking its driver_override",
  bind: "binding it to nvidia",
  initialise: "opening the backend (cuInit)",
  ordinals: "looking for its ordinal",
  context: "creating a context",
  module: "loading the base payload",
  buffers: "allocating resident buffers",
  probe: "running the probe kernel",
  work: "running the work kernel",
  read: "reading its result back",
  swap: "moving the window between the dies",
};

/** What the owner does in that rung, e.g. `binding it to nvidia`. */
export const describeStep = (step: BringUpStep): string => DESCRIPTIONS[step];

export type JournalEntry = {
  readonly step: BringUpStep;
  readonly die: number;
  /** `begin` is written and flushed before the step runs. */
  readonly phase: "begin" | "done" | "failed";
  readonly detail?: string;
  /** The die's PCI address, where it is known: numbers may change with the machine's boards. */
  readonly address?: string;
  /** Of a rung that failed: it did not come back, or the die or slot is gone. */
  readonly verdict?: "hung" | "lost";
  /** The process that is stuck in a rung that hung. */
  readonly stepPid?: number;
  /** When that process was started, in clock ticks since the machine was; left out: not known. */
  readonly stepStartTicks?: number;
};

/** An entry as it is written: one line of JSON. */
export type JournalLine = JournalEntry & {
  /** ISO 8601. */
  readonly time: string;
  readonly pid: number;
  /** When that process was started, in clock ticks since the machine was; left out: not known. */
  readonly startTicks?: number;
  /** /proc/sys/kernel/random/boot_id: another one means that the host was reset since. */
  readonly boot: string;
  /** How the owner reached its dies; left out by earlier versions. */
  readonly slot?: SlotKind;
};

export type Journal = {
  /**
   * An error says why the entry could not be written: a rung whose `begin` is not on the disk must
   * not be climbed. What ends a rung and could not be written follows with the next entry.
   */
  readonly write: (entry: JournalEntry) => Result<void, string>;
};

/** A journal that keeps nothing, for callers without a state directory. */
export const noJournal: Journal = { write: () => ok(undefined) };
