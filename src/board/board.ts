/**
 * The board: dies as PCI functions, the driver bound to them, and the slot, the one MMIO window
 * that shows a die to the machine. `direct` boards map every die at all times; behind a window at
 * most one die is mapped, and moving the window destroys nothing on the die that it leaves.
 */
import type { Result } from "../base/mod.ts";

export type SlotKind = "direct" | "bar_swap" | "sim";

/** What the board needs to know of a GPU that the driver counts. */
export type CountedDevice = {
  readonly ordinal: number;
  readonly name: string;
  readonly pciAddress: string | null;
};

/** A die as the board sees it. */
export type BoardDie = {
  readonly die: number;
  /** `0000:05:00.0`, or `soft:0` where the device is no PCI function. */
  readonly address: string;
  readonly name: string;
};

/** The die in the window, and where its BAR1 is mapped. */
export type SlotView = { readonly die: number; readonly bar1Address: bigint };

/**
 * What became of a step. `refused`: it did not happen, and nothing is left of it. `hung`: it did
 * not come back in time; the process that took it is left to itself, and what it did is not known.
 * `lost`: the die or the slot is gone.
 */
export type BoardVerdict = "refused" | "hung" | "lost";

/**
 * A step of the board that failed. `call` is the step, e.g. `acquire`, `modprobe nvidia`, `bind`;
 * the message says what to do about it.
 */
export type BoardFailure = {
  readonly verdict: BoardVerdict;
  readonly call: string;
  readonly message: string;
  /**
   * `hung`: the process that is stuck in the step, its own or one that it has started, and is left
   * to itself; left out where there is none.
   */
  readonly stepPid?: number;
  /** When that process was started, in clock ticks since the machine was; 0: not known. */
  readonly stepStartTicks?: number;
};

/** What the board notices by itself. It is counted, never latched: a die that answers is well. */
export type BoardEvent = {
  /** Null where the event names no die of this board: it may be any of them. */
  readonly die: number | null;
  /**
   * `xid`: the driver wrote an error line to the kernel's log. `off_bus`: the die's configuration
   * space reads all ones, or the driver says that it fell off the bus. `init_failed`: the driver
   * could not start the die. `slot_lost`: the window shows no die, or another one than was
   * acquired.
   */
  readonly kind: "xid" | "off_bus" | "init_failed" | "slot_lost";
  /** The Xid's number; null for the other kinds. */
  readonly xid: number | null;
  /** The line that was found, or what was seen. */
  readonly text: string;
};

/** Whether a die answers on the bus; `unknown` where it is no PCI function or cannot be asked. */
export type Presence = "present" | "off_bus" | "unknown";

/** A process that has a die's device open. */
export type Holder = { readonly pid: number; readonly command: string; readonly path: string };

/** Which driver has which die. Steps that can hang or crash the host; the owner journals each. */
export type DriverBinding = {
  readonly isLoaded: () => boolean;
  readonly isBound: (die: number) => boolean;
  /** Sets driver_override of every other die, so that loading the driver probes this one alone. */
  readonly blockAllExcept: (die: number) => Promise<Result<void, BoardFailure>>;
  /** Loads the driver. A second call is a bug: it is loaded exactly once. */
  readonly load: () => Promise<Result<void, BoardFailure>>;
  readonly unblock: (die: number) => Promise<Result<void, BoardFailure>>;
  readonly bind: (die: number) => Promise<Result<void, BoardFailure>>;
  /** Takes the die from the driver. Refused, naming them, while other processes hold it open. */
  readonly unbind: (die: number) => Promise<Result<void, BoardFailure>>;
  /** Who has the die's device open, ourselves left out. */
  readonly holders: (die: number) => Promise<readonly Holder[]>;
  /**
   * Puts back what this die's failed bring-up step has written, and says in the log what it left:
   * other dies stay blocked while the driver is there, or is being loaded.
   */
  readonly restore: (die: number) => Promise<void>;
};

/** Asks the driver which devices it counts; only after a die is bound does it know of one. */
export type Inventory = () => Promise<Result<readonly CountedDevice[], BoardFailure>>;

export type Board = {
  readonly slotKind: SlotKind;
  readonly driver: DriverBinding;
  /** The dies of this machine, by number. A windowed board scans PCI and asks no driver. */
  readonly discover: (inventory: Inventory) => Promise<Result<readonly BoardDie[], BoardFailure>>;
  /** The die in that group's window; null where it is free, or where every die is mapped. */
  readonly occupant: (group: number) => number | null;
  /** Moves the window onto the die. Preconditions: no die is busy. There is no release. */
  readonly acquire: (die: number) => Promise<Result<SlotView, BoardFailure>>;
  /** The driver's ordinal of the die, found by its address; null where the driver has it not. */
  readonly ordinalOf: (die: BoardDie, devices: readonly CountedDevice[]) => number | null;
  /**
   * Dies of one group share a window and a die host, because the process that leaves takes the
   * window with it. On a direct board every die is a group of its own.
   */
  readonly hostGroupOf: (die: number) => number;
  /** Asks the die's configuration space, not its driver. */
  readonly presence: (die: number) => Promise<Presence>;
  /** Calls back for each event from now on; the returned function takes that back. */
  readonly watch: (listener: (event: BoardEvent) => void) => () => void;
  /** Ends what the board has running, after the die hosts have ended. Releases nothing. */
  readonly leave: () => void;
};
