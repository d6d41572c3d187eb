/** What of a scenario can be played in real time, over die hosts that are processes. */
import type { SimFault, SimMachineSpec, SimStepName } from "../board/mod.ts";

/** Steps of the board; the others are of GPUs, which then are real or the software GPU. */
const BOARD_STEPS: readonly SimStepName[] = ["acquire", "block", "modprobe", "unblock", "bind"];

/** Faults that would end processes, or GPUs', whatever step they strike at. */
const ENDING: readonly SimFault["kind"][] = ["host_reset", "host_killed", "owner_killed"];

/** The machine without the faults that cannot be played, and those, each once. */
export function machineInRealTime(spec: SimMachineSpec): {
  readonly spec: SimMachineSpec;
  readonly leftOut: readonly string[];
} {
  const isPlayed = ({ kind, step }: SimFault): boolean =>
    BOARD_STEPS.includes(step) && !ENDING.includes(kind);
  const left = spec.faults.filter((fault) => !isPlayed(fault));
  return {
    spec: { ...spec, faults: spec.faults.filter(isPlayed) },
    leftOut: [...new Set(left.map(({ kind, step }) => `${kind} at ${step}`))],
  };
}
