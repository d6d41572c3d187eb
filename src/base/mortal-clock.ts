/** A clock of something that may be ended at any moment, as a process is by SIGKILL. */
import type { EventClock } from "./clock.ts";

export type MortalClock = {
  readonly clock: EventClock;
  /** From now on nothing that was planned on the clock happens, and no wait on it ends. */
  readonly end: () => void;
};

/** Runs on `clock` until it is ended. Code that waits on it alone then never goes on. */
export function createMortalClock(clock: EventClock): MortalClock {
  let isEnded = false;
  const unlessEnded = (action: () => void) => (): void => {
    if (!isEnded) action();
  };
  const after = (ms: number, action: () => void): (() => void) =>
    clock.after(ms, unlessEnded(action));
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));
  return {
    clock: {
      nowMs: clock.nowMs,
      movesByItself: clock.movesByItself,
      sleep,
      after,
      afterInBackground: (ms, action) => clock.afterInBackground(ms, unlessEnded(action)),
      turn: () => new Promise((resolve) => void clock.turn().then(unlessEnded(resolve))),
    },
    end: () => void (isEnded = true),
  };
}
