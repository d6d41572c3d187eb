/**
 * Steps on dies that never came back: which process still hangs, and with what. Whatever is tried
 * behind one would hang too, so it is asked for here first.
 */
import type { BoardDie, BoardFailure } from "./board.ts";
import type { StepOutcome } from "./board-step.ts";
import { isProcessAlive, type ProcessId } from "./process-state.ts";

export class HungSteps {
  /** `/`, or a folder that stands for it. */
  readonly #root: string;
  readonly #onDies = new Map<number, ProcessId>();
  /** The process that hangs in loading the driver: all dies are its to probe, one by one. */
  #inLoad: ProcessId | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  /** Remembers the process where a step on the die hung; gives the outcome back. */
  note<T>(die: number, outcome: StepOutcome<T>): StepOutcome<T> {
    const process = outcome.ok ? null : processOf(outcome.error);
    if (process !== null) this.#onDies.set(die, process);
    return outcome;
  }

  /** Remembers the process where loading the driver hung. */
  noteLoad(failure: BoardFailure): void {
    this.#inLoad = processOf(failure);
  }

  /** What hangs with the die; null: nothing does, any more. */
  on(die: BoardDie): BoardFailure | null {
    const process = this.#onDies.get(die.die);
    if (process === undefined) return null;
    if (this.#isAlive(process)) {
      return stillHangs(process, `an earlier step on ${die.address}, and has its lock`);
    }
    this.#onDies.delete(die.die);
    return null;
  }

  /** What hangs in loading the driver; null: nothing does, any more. */
  inLoad(): BoardFailure | null {
    const process = this.#inLoad;
    if (process === null) return null;
    if (this.#isAlive(process)) {
      return stillHangs(process, "loading nvidia, and would probe each die that is let go");
    }
    this.#inLoad = null;
    return null;
  }

  #isAlive({ pid, startTicks }: ProcessId): boolean {
    return isProcessAlive(this.#root, pid, startTicks);
  }
}

const processOf = ({ stepPid, stepStartTicks = 0 }: BoardFailure): ProcessId | null =>
  stepPid === undefined ? null : { pid: stepPid, startTicks: stepStartTicks };

const stillHangs = ({ pid, startTicks }: ProcessId, where: string): BoardFailure => ({
  verdict: "hung",
  call: "wait",
  message: `pid ${pid} still hangs in ${where}`,
  stepPid: pid,
  stepStartTicks: startTicks,
});
