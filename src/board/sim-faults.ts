/** Decides when a simulated machine's faults strike. */
import type { Random } from "../base/mod.ts";
import type { SimFault, SimLatency, SimStepName } from "./sim-scenario.ts";

export class SimFaultPlan {
  readonly #faults: readonly { readonly fault: SimFault; readonly random: Random }[];
  /** How often each fault's step was taken by a die of its. */
  readonly #seen = new Map<SimFault, number>();
  #isOver = false;

  constructor(faults: readonly SimFault[], random: Random) {
    this.#faults = faults.map((fault, at) => ({ fault, random: random.fork(`fault ${at}`) }));
  }

  /** The faults that strike now that the die takes the step. */
  strikes(step: SimStepName, die: number): readonly SimFault[] {
    if (this.#isOver) return [];
    const struck: SimFault[] = [];
    for (const { fault, random } of this.#faults) {
      if (fault.step !== step || (fault.die !== null && fault.die !== die)) continue;
      const times = (this.#seen.get(fault) ?? 0) + 1;
      this.#seen.set(fault, times);
      const isNow = fault.nth === null ? random.next() < fault.probability : times === fault.nth;
      if (isNow) struck.push(fault);
    }
    return struck;
  }

  /** None strikes any more. */
  end(): void {
    this.#isOver = true;
  }
}

/** Draws a latency, in milliseconds. */
export const drawMs = (latency: SimLatency, random: Random): number =>
  typeof latency === "number" ? latency : random.between(latency[0], latency[1]);
