import { err, invariant, ok, type Clock, type Result } from "../base/mod.ts";
import type { Board, BoardDie, BoardFailure, DriverBinding } from "./board.ts";

/** A step of the simulated board, for faults and for the record of what was done. */
export type SimStep =
  | { readonly call: "acquire" | "unblock" | "bind" | "unbind"; readonly die: number }
  | { readonly call: "block-all-except"; readonly die: number }
  | { readonly call: "modprobe nvidia" };

export type SimBoardOptions = {
  readonly dies: number;
  readonly clock: Clock;
  /** How long one move of the window takes. */
  readonly acquireMs?: number;
  /** Says of each step whether it fails, and why; null lets it pass. */
  readonly fault?: (step: SimStep) => string | null;
};

/** BAR1 of a GK210 is 16 GiB; the first one lies above 4 GiB, where firmware puts big windows. */
const BAR1_ADDRESS = 0x38_0000_0000n;

/** Bus number of the first die: a K80's switch and its two dies follow one another. */
const FIRST_BUS = 5;

const addressOf = (die: number): string =>
  `0000:${(FIRST_BUS + die).toString(16).padStart(2, "0")}:00.0`;

/** What the simulated driver and sysfs hold. */
type SimDriverState = {
  loaded: boolean;
  readonly blocked: Set<number>;
  readonly bound: Set<number>;
};

function createSimDriver(options: {
  readonly dies: number;
  readonly occupant: () => number | null;
  readonly step: (step: SimStep) => Promise<Result<void, BoardFailure>>;
}): DriverBinding {
  const state: SimDriverState = { loaded: false, blocked: new Set(), bound: new Set() };
  const blockedAtStep = new Map<number, ReadonlySet<number>>();
  return {
    isLoaded: () => state.loaded,
    isBound: (die) => state.bound.has(die),
    blockAllExcept: async (die) => {
      blockedAtStep.set(die, new Set(state.blocked));
      for (let other = 0; other < options.dies; other++)
        if (other !== die) state.blocked.add(other);
      return options.step({ call: "block-all-except", die });
    },
    load: async () => {
      invariant(!state.loaded, "nvidia is loaded exactly once");
      invariant(
        state.blocked.size === options.dies - 1,
        "nvidia is loaded while others are blocked",
      );
      const done = await options.step({ call: "modprobe nvidia" });
      if (!done.ok) return done;
      state.loaded = true;
      for (let die = 0; die < options.dies; die++)
        if (!state.blocked.has(die)) state.bound.add(die);
      return done;
    },
    unblock: async (die) => {
      blockedAtStep.set(die, new Set(state.blocked));
      state.blocked.delete(die);
      return options.step({ call: "unblock", die });
    },
    bind: async (die) => {
      invariant(state.loaded, "a die is bound after nvidia was loaded");
      invariant(!state.blocked.has(die), "a die is unblocked before it is bound");
      invariant(options.occupant() === die, "a die is bound while it is in the slot");
      const done = await options.step({ call: "bind", die });
      if (done.ok) state.bound.add(die);
      return done;
    },
    unbind: async (die) => {
      const done = await options.step({ call: "unbind", die });
      if (done.ok) state.bound.delete(die);
      return done;
    },
    holders: () => Promise.resolve([]),
    restore: (die) => {
      const before = blockedAtStep.get(die);
      if (before !== undefined && !state.bound.has(die)) {
        state.blocked.clear();
        for (const other of before) state.blocked.add(other);
      }
      return Promise.resolve();
    },
  };
}

/**
 * A board with one window over all of its dies, as a two-die K80 in a box that can map one BAR. It
 * behaves like the hardware towards the owner and dies on a broken invariant, where hardware would
 * take the host with it. Addresses and times are made up; orders and exclusions are real.
 */
export function createSimBoard(options: SimBoardOptions): Board {
  let occupant: number | null = null;
  const step = async (taken: SimStep): Promise<Result<void, BoardFailure>> => {
    if (taken.call === "acquire") await options.clock.sleep(options.acquireMs ?? 0);
    const fault = options.fault?.(taken) ?? null;
    return fault === null
      ? ok(undefined)
      : err({ verdict: "refused", call: taken.call, message: fault });
  };
  return {
    slotKind: "sim",
    driver: createSimDriver({ dies: options.dies, occupant: () => occupant, step }),
    discover: (): Promise<Result<readonly BoardDie[], BoardFailure>> =>
      Promise.resolve(
        ok(
          Array.from({ length: options.dies }, (_, die) => ({
            die,
            address: addressOf(die),
            name: "GK210 (simulated)",
          })),
        ),
      ),
    occupant: () => occupant,
    acquire: async (die) => {
      invariant(die >= 0 && die < options.dies, `the board has no die ${String(die)}`);
      // The window leaves the old die before it reaches the new one: a failure leaves it free.
      occupant = null;
      const done = await step({ call: "acquire", die });
      if (!done.ok) return done;
      occupant = die;
      return ok({ die, bar1Address: BAR1_ADDRESS });
    },
    // Simulated dies have no device of their own, so they share what there is in turn.
    ordinalOf: (die, devices) => (devices.length === 0 ? null : die.die % devices.length),
    hostGroupOf: () => 0,
    presence: () => Promise.resolve("present"),
    watch: () => () => undefined,
    leave: () => undefined,
  };
}
