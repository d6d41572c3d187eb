/** NVIDIA's driver and sysfs of a simulated machine, as one owner sees them. */
import { err, ok } from "../base/mod.ts";
import type { BoardFailure, DriverBinding } from "./board.ts";
import { BLOCKED_OVERRIDE } from "./driver-override.ts";
import { stepPidOf, type SimBoardTools } from "./sim-board.ts";
import { SIM_STEP_DONE, type SimMachine, type SimStepOutcome } from "./sim-machine.ts";

const done = (): SimStepOutcome => SIM_STEP_DONE;
const refused = (reason: string): SimStepOutcome => ({ kind: "refused", reason });

/** driver_override of every die, by number. */
export const overridesOf = (machine: SimMachine): readonly (string | null)[] =>
  machine.dies.map(({ override }) => override);

export function createSimDriver({ machine, step }: SimBoardTools): DriverBinding {
  /** What the overrides were before each die's latest attempt. */
  const before = new Map<number, readonly (string | null)[]>();
  /** The die in whose probe our load hangs. */
  let hungLoad: number | null = null;
  const stuckLoad = (): BoardFailure | null => {
    if (hungLoad === null || !machine.has("hang", hungLoad)) return null;
    const message = "an earlier load of nvidia hangs still, and would probe each die let go";
    return { verdict: "hung", call: "wait", message, stepPid: stepPidOf(hungLoad) };
  };
  return {
    isLoaded: () => machine.isLoaded,
    isBound: (die) => machine.dieOf(die).isBound,
    blockAllExcept: async (die) => {
      before.delete(die);
      const stuck = stuckLoad();
      if (stuck !== null) return err(stuck);
      return step("block", die, {
        begin: () => {
          before.set(die, overridesOf(machine));
          for (const other of machine.dies) {
            if (other.die === die) other.override = null;
            else if (!other.isBound) other.override ??= BLOCKED_OVERRIDE;
          }
        },
        action: done,
      });
    },
    load: async () => {
      // What loads the driver is for the one die that is not blocked.
      const open = machine.dies.filter(({ override }) => override === null);
      const begin = (): void => {
        if (machine.isLoaded) machine.violate(3, "nvidia is loaded a second time");
        if (open.length !== 1)
          machine.violate(3, `nvidia is loaded while ${open.length} dies are open to it`);
      };
      const die = open[0]?.die ?? 0;
      const loaded = await step("modprobe", die, { begin, action: () => load(machine) });
      if (!loaded.ok && loaded.error.verdict === "hung") hungLoad = die;
      return loaded;
    },
    unblock: (die) =>
      step("unblock", die, {
        begin: () => {
          before.set(die, overridesOf(machine));
          machine.dieOf(die).override = null;
        },
        action: done,
      }),
    bind: (die) =>
      step("bind", die, {
        begin: () => checkBind(machine, die),
        action: () => bind(machine, die),
      }),
    unbind: (die) => {
      machine.violate(6, `die ${die} is taken from the driver`);
      machine.dieOf(die).isBound = false;
      return Promise.resolve(ok(undefined));
    },
    holders: () => Promise.resolve([]),
    restore: (die) => {
      // A driver that is there, or on its way, would probe a die that is let go.
      const mayLift = !machine.isLoaded && stuckLoad() === null;
      restore({ machine, die, mayLift }, before.get(die));
      return Promise.resolve();
    },
  };
}

function restore(
  { machine, die, mayLift }: { machine: SimMachine; die: number; mayLift: boolean },
  overrides: readonly (string | null)[] | undefined,
): void {
  if (overrides === undefined || machine.dieOf(die).isBound) return;
  for (const [other, override] of overrides.entries())
    if (other === die || override !== null || mayLift) machine.dieOf(other).override = override;
}

function checkBind(machine: SimMachine, die: number): void {
  if (!machine.isLoaded) machine.violate(3, `die ${die} is bound before nvidia was loaded`);
  if (machine.dieOf(die).override !== null)
    machine.violate(3, `die ${die} is bound while it is blocked`);
  if (!machine.isMapped(die) && !machine.slotOf(die).isLost)
    machine.violate(1, `die ${die} is bound while the window does not show it`);
}

/** The driver takes each die that answers and is not blocked; with none it does not stay. */
function load(machine: SimMachine): SimStepOutcome {
  const open = machine.dies.filter(
    ({ die, override }) =>
      override === null && machine.isMapped(die) && !machine.has("off_bus", die),
  );
  if (open.length === 0) return refused("no die answers: modprobe: No such device");
  machine.isLoaded = true;
  for (const die of open) die.isBound = true;
  return SIM_STEP_DONE;
}

function bind(machine: SimMachine, die: number): SimStepOutcome {
  const state = machine.dieOf(die);
  if (machine.has("off_bus", die)) return { kind: "lost", reason: "the die fell off the bus" };
  // As the kernel has it for a device whose override names another driver.
  if (state.override !== null) return refused("driver_override is set: write: ENODEV");
  state.isBound = true;
  return SIM_STEP_DONE;
}
