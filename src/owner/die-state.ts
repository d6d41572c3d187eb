import { invariant } from "../base/mod.ts";
import type { DieState } from "./reports.ts";

/**
 * Which state may follow which (DESIGN section 4). `lost` is a die whose host died under it, or
 * that is gone from the board; `faulted` one whose own context failed, or whose bring-up did not
 * come back. Both begin again from the slot, since binding survives a process.
 */
const NEXT: Readonly<Record<DieState, readonly DieState[]>> = {
  absent: ["discovered"],
  discovered: ["in-slot", "faulted", "lost"],
  // A bring-up that was refused begins again from where it ended.
  "in-slot": ["in-slot", "bound", "discovered", "faulted", "lost"],
  bound: ["in-slot", "online", "faulted", "lost"],
  // `discovered` by teardown, which destroys its context on purpose.
  online: ["faulted", "lost", "discovered"],
  faulted: ["in-slot", "lost"],
  lost: ["in-slot", "faulted", "lost"],
};

/** True where `to` may follow `from`. */
export const canFollow = (from: DieState, to: DieState): boolean => NEXT[from].includes(to);

/** Checks a change of state and returns the new one; one that the table lacks is a bug. */
export function nextState(from: DieState, to: DieState): DieState {
  invariant(canFollow(from, to), `a die does not go from ${from} to ${to}`);
  return to;
}
