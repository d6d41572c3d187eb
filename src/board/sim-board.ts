/** A simulated machine's board, as one owner sees it. */
import { err, ok, type EventClock, type Result } from "../base/mod.ts";
import type {
  Board,
  BoardDie,
  BoardEvent,
  BoardFailure,
  CountedDevice,
  DriverBinding,
} from "./board.ts";
import { isSamePciAddress } from "./pci-address.ts";
import { createSimDriver } from "./sim-driver.ts";
import {
  createSimMachine,
  forever,
  SIM_STEP_DONE,
  type SimMachine,
  type SimStepOutcome,
  type SimStepWork,
} from "./sim-machine.ts";
import { SIM_MACHINE, type SimLatencies, type SimStepName } from "./sim-scenario.ts";
import { boardEventOf, XidScanner } from "./xid.ts";

/** BAR1 of a GK210 is 16 GiB; the first one lies above 4 GiB, where firmware puts big windows. */
const BAR1_ADDRESS = 0x38_0000_0000n;
const BAR1_BYTES = 2n ** 34n;

/** How often a move that is under way is looked at. */
const MOVE_POLL_MS = 1;

/** How a step of the machine is called where it fails. */
const CALLS: Readonly<Partial<Record<SimStepName, string>>> = {
  block: "block-all-except",
  modprobe: "modprobe nvidia",
};

/** Process ids of simulated steps that hang; each die has one at a time. Beyond Linux's own. */
const FIRST_STEP_PID = 2 ** 22;

/** The process that is stuck in a step on that die. */
export const stepPidOf = (die: number): number => FIRST_STEP_PID + die;

/** The die in whose hanging step that process is stuck; null where it is none of those. */
export const dieOfStepPid = (pid: number): number | null =>
  pid >= FIRST_STEP_PID ? pid - FIRST_STEP_PID : null;

/** What became of a step, as the Board port tells it. */
function resultOf(
  step: SimStepName,
  die: number,
  outcome: SimStepOutcome,
): Result<void, BoardFailure> {
  const call = CALLS[step] ?? step;
  switch (outcome.kind) {
    case "done":
      return ok(undefined);
    case "refused":
    case "lost":
      return err({ verdict: outcome.kind, call, message: outcome.reason });
    case "hung": {
      const message = "it did not come back in time; the process that took it is left to itself";
      return err({ verdict: "hung", call, message, stepPid: stepPidOf(die) });
    }
  }
}

/** What the parts of a board share. */
export type SimBoardTools = {
  readonly machine: SimMachine;
  /** Takes a step for this owner; never settles once that is gone. */
  readonly step: (
    step: SimStepName,
    die: number,
    work: SimStepWork,
  ) => Promise<Result<void, BoardFailure>>;
};

/** The board of the machine; `clock` is the owner's, and may end before the machine's. */
export function openSimBoard(machine: SimMachine, clock: EventClock): Board {
  let hasLeft = false;
  const step: SimBoardTools["step"] = async (name, die, work) => {
    const outcome = await machine.step(name, die, work);
    // An owner that was killed meanwhile does not go on.
    await clock.turn();
    return hasLeft ? forever() : resultOf(name, die, outcome);
  };
  const driver: DriverBinding = createSimDriver({ machine, step });
  const dies: readonly BoardDie[] = machine.dies.map(({ die, address }) => ({
    ...{ die, address, name: "GK210 (simulated)" },
  }));
  return {
    slotKind: "sim",
    driver,
    discover: () => Promise.resolve(ok(dies)),
    occupant: (group) => machine.slots[group]?.occupant ?? null,
    acquire: async (die) => {
      const slot = machine.slotOf(die);
      // The kernel ends the call of an owner that is gone before it begins another one.
      while (slot.mover !== null && slot.mover !== driver) await clock.sleep(MOVE_POLL_MS);
      const done = await step("acquire", die, acquireWork(machine, die, driver));
      const offset = BigInt(machine.dieOf(die).board) * BAR1_BYTES;
      return done.ok ? ok({ die, bar1Address: BAR1_ADDRESS + offset }) : done;
    },
    ordinalOf: (die, devices) => ordinalOf(die, devices, dies),
    hostGroupOf: (die) => machine.dieOf(die).board,
    presence: async (die) => {
      await clock.turn();
      return machine.has("off_bus", die) ? "off_bus" : "present";
    },
    watch: (listener) => watch(machine, clock, dies, listener),
    leave: () => void (hasLeft = true),
  };
}

/**
 * By address. Devices that are none of the board's dies, software ones or a real GPU's, are shared
 * in turn by dies that have none of their own.
 */
function ordinalOf(
  die: BoardDie,
  devices: readonly CountedDevice[],
  dies: readonly BoardDie[],
): number | null {
  const isOf = ({ pciAddress }: CountedDevice, { address }: BoardDie): boolean =>
    pciAddress !== null && isSamePciAddress(pciAddress, address);
  const isSimulated = devices.some((device) => dies.some((each) => isOf(device, each)));
  if (isSimulated) return devices.find((device) => isOf(device, die))?.ordinal ?? null;
  return devices.length === 0 ? null : die.die % devices.length;
}

/** The window leaves the old die before it reaches the new one: a failure leaves it free. */
function acquireWork(machine: SimMachine, die: number, mover: object): SimStepWork {
  const slot = machine.slotOf(die);
  const isThere = slot.occupant === die;
  return {
    begin: () => {
      if (slot.mover !== null) machine.violate(1, `die ${die} is acquired while the window moves`);
      const { occupant } = slot;
      if (isThere) return;
      if (occupant !== null && machine.isComputing(occupant))
        machine.violate(5, `die ${die} is acquired while a kernel runs on die ${occupant}`);
      slot.occupant = null;
      slot.mover = mover;
    },
    action: () => {
      slot.occupant = die;
      slot.isLost = false;
      return SIM_STEP_DONE;
    },
    end: () => {
      if (slot.mover === mover) slot.mover = null;
    },
  };
}

function watch(
  machine: SimMachine,
  clock: EventClock,
  dies: readonly BoardDie[],
  listener: (event: BoardEvent) => void,
): () => void {
  const scanner = new XidScanner();
  const later = (event: BoardEvent): void => void clock.turn().then(() => listener(event));
  return machine.observe((seen) => {
    if (seen.kind === "slot_lost") {
      const { die } = seen;
      later({ die, kind: "slot_lost", xid: null, text: `the window shows no die, not die ${die}` });
    }
    if (seen.kind !== "kernel_log") return;
    for (const sighting of scanner.push(seen.line)) {
      const event = boardEventOf(sighting, dies);
      if (event !== null) later(event);
    }
  });
}

/** A step of the simulated board, for faults and for the record of what was done. */
export type SimStep = { readonly call: string; readonly die: number };

export type SimBoardOptions = {
  readonly dies: number;
  /** Boards, each with a window and as many dies; 1 unless one says otherwise. */
  readonly boards?: number;
  readonly clock: EventClock;
  /** How long one move of the window takes; 0 unless one says otherwise. */
  readonly acquireMs?: number;
  /** Says of each step whether it fails, and why; null lets it pass. */
  readonly fault?: (step: SimStep) => string | null;
};

const NO_TIME: SimLatencies = {
  ...{ acquire: 0, block: 0, modprobe: 0, unblock: 0, bind: 0 },
  ...{ initialise: 0, context: 0, memory: 0, kernel: 0, copy: 0 },
};

/**
 * A board with one window over all of its dies, as a two-die K80 in a box that can map one BAR. It
 * dies on a broken invariant, where hardware would take the host with it.
 */
export function createSimBoard(options: SimBoardOptions): Board {
  const { dies, boards = 1, clock, acquireMs = 0, fault } = options;
  const latencyMs = { ...NO_TIME, acquire: acquireMs };
  const spec = { ...SIM_MACHINE, boards, diesPerBoard: dies, latencyMs };
  const script = (step: SimStepName, die: number): string | null =>
    fault?.({ call: CALLS[step] ?? step, die }) ?? null;
  return openSimBoard(createSimMachine({ spec, clock, script }), clock);
}
