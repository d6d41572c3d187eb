/**
 * Which die runs a job: of those that may, the one with the fewest jobs of this bridge in flight.
 * Each mailbox has one job in flight at most, so that one waits for at most one job of each other
 * mailbox that uses its die, however many jobs those post.
 */
import { invariant } from "../base/mod.ts";

/** A job's place on a die. */
export type DieHold = { readonly die: number; readonly release: () => void };

export class DieChoice {
  readonly #inFlight = new Map<number, number>();

  /** Takes a place on the best of `dies`, of which there is one at least; ties go to `before`. */
  take(dies: readonly number[], before: number | null): DieHold {
    const loadOf = (die: number): number => this.#inFlight.get(die) ?? 0;
    const least = Math.min(...dies.map(loadOf));
    const free = dies.filter((die) => loadOf(die) === least);
    const die = before !== null && free.includes(before) ? before : free[0];
    invariant(die !== undefined, "a job has a die that it may run on");
    this.#inFlight.set(die, least + 1);
    let isHeld = true;
    return {
      die,
      release: () => {
        invariant(isHeld, "a job gives its die back once");
        isHeld = false;
        this.#inFlight.set(die, loadOf(die) - 1);
      },
    };
  }
}
