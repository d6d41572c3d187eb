/**
 * The board: dies as PCI functions, the driver bound to them, and the slot, the one MMIO window that
 * shows a die to the machine. `direct` boards map every die at all times; behind a window at most one
 * die is mapped, and moving the window destroys nothing on the die that it leaves.
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

/** A step of the board that failed. `call` is the step, e.g. `acquire`, `modprobe nvidia`, `bind`. */
export type BoardFailure = { readonly call: string; readonly message: string };

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
  /** Puts back what this die's failed bring-up step has written. */
  readonly restore: (die: number) => Promise<void>;
};

/** Asks the driver which devices it counts; only after a die is bound does it know of one. */
export type Inventory = () => Promise<Result<readonly CountedDevice[], BoardFailure>>;

export type Board = {
  readonly slotKind: SlotKind;
  readonly driver: DriverBinding;
  /** The dies of this machine, by number. A windowed board scans PCI and asks no driver. */
  readonly discover: (inventory: Inventory) => Promise<Result<readonly BoardDie[], BoardFailure>>;
  /** The die in the window; null where the slot is free, or every die is mapped. */
  readonly occupant: () => number | null;
  /** Moves the window onto the die. Preconditions: no die is busy. There is no release. */
  readonly acquire: (die: number) => Promise<Result<SlotView, BoardFailure>>;
  /** The driver's ordinal of the die, found by its address; null where the driver has it not. */
  readonly ordinalOf: (die: BoardDie, devices: readonly CountedDevice[]) => number | null;
  /**
   * Dies that share one die host. Behind a window all dies of the board do, because the process that
   * leaves takes the window with it.
   */
  readonly hostGroupOf: (die: number) => number;
};
