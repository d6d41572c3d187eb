/**
 * The board of a machine whose dies share one window, over /dev/bar_swap, sysfs and the kernel's
 * log. No native code runs in here, and nothing that can hang: both are in processes of their own.
 */
import { ok, type EventClock, type Log } from "../base/mod.ts";
import { BarSwapSlot } from "./bar-swap-slot.ts";
import type { Board, BoardDie } from "./board.ts";
import { STEP_TIMEOUTS, type StepOutcome, type StepTimeouts } from "./board-step.ts";
import { createEventSource, type EventSource } from "./event-source.ts";
import type { KernelLogSource } from "./kernel-log.ts";
import { createKernelWatch } from "./kernel-watch.ts";
import { ordinalByAddress } from "./ordinal.ts";
import { createPciDriver } from "./pci-driver.ts";
import { parsePciAddress } from "./pci-address.ts";
import { gpuName, readPciFunction } from "./pci-function.ts";
import { presenceOf } from "./presence.ts";
import type { SlotDie } from "./step-protocol.ts";
import { createStepRunner, type StepLauncher } from "./step-runner.ts";

export type BarSwapBoardOptions = {
  /** `/`, or a folder that stands for it. */
  readonly root: string;
  /** `/dev/bar_swap`, as /proc shows it where it is open. */
  readonly devicePath: string;
  readonly launchStep: StepLauncher;
  readonly clock: EventClock;
  readonly log: Log;
  /** The owner's process. */
  readonly ownerPid: number;
  readonly timeouts?: StepTimeouts;
  /** Opens the kernel's log; that of `root` where it is left out. */
  readonly openKernelLog?: () => KernelLogSource;
};

export type BarSwapBoard = Board & {
  /**
   * A copy of bytes of BAR1 of the die in the slot: at most SLOT_READ_BYTES_MAX, made between two
   * swaps. There is no other way to see BAR1: a view of it would end the process at the next swap.
   */
  readonly readBar: (offset: number, bytes: number) => Promise<StepOutcome<Uint8Array>>;
};

/**
 * A process for steps ends when there was none for this long: each holds some 40 MB. Steps come in
 * a row when a die is brought up; looks come with each swap, and with each probe of a die's health.
 */
const STEPS_IDLE_MS = 5_000;
const LOOKS_IDLE_MS = 30_000;

/** How often the slot is looked at while somebody watches, in milliseconds. */
const SLOT_LOOK_MS = 3000;

export function createBarSwapBoard(options: BarSwapBoardOptions): BarSwapBoard {
  const { root, devicePath, launchStep: launch, clock, log, ownerPid } = options;
  const { timeouts = STEP_TIMEOUTS } = options;
  const holder = createStepRunner({ launch, clock, root, idleMs: null });
  const steps = createStepRunner({ launch, clock, root, idleMs: STEPS_IDLE_MS });
  // Not behind steps: to look at a die must not take as long as the bind of another one.
  const looks = createStepRunner({ launch, clock, root, idleMs: LOOKS_IDLE_MS });
  const presence = { looks, timeoutMs: timeouts.presenceMs };
  const slot = new BarSwapSlot({ root, devicePath, holder, presence, timeouts, clock });
  let known: readonly BoardDie[] = [];
  const dies = (): readonly BoardDie[] => known;
  const occupant = (): number | null => slot.occupant;
  const kernel = createKernelWatch({
    clock,
    dies,
    onNote: log,
    ...(options.openKernelLog === undefined ? {} : { open: options.openKernelLog }),
  });
  const slotWatch = createSlotWatch(slot, clock);
  return {
    slotKind: "bar_swap",
    driver: createPciDriver({
      ...{ root, steps, presence, timeouts, clock, log, ownerPid },
      dies,
      occupant,
    }),
    discover: async () => {
      const found = await slot.discover();
      if (!found.ok) return found;
      known = found.value.map((die, number) => boardDie(root, die, number));
      return ok(known);
    },
    occupant,
    acquire: (die) => slot.move(die),
    ordinalOf: ordinalByAddress,
    hostGroupOf: () => 0,
    presence: (die) => presenceOf(presence, known[die]?.address),
    watch: (listener) => {
      const ends = [kernel.watch(listener), slotWatch.watch(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
    readBar: (offset, bytes) => slot.read(offset, bytes),
    leave: () => {
      kernel.close();
      slotWatch.close();
      for (const runner of [steps, looks, holder]) runner.end();
    },
  };
}

/** A die that the slot knows and the bus does not is there all the same, and says so. */
function boardDie(root: string, { address }: SlotDie, die: number): BoardDie {
  const parsed = parsePciAddress(address);
  const found = parsed === null ? null : readPciFunction(root, parsed);
  return { die, address, name: found === null ? "not on the bus" : gpuName(found) };
}

/** Looks at the slot now and then while somebody listens. */
function createSlotWatch(slot: BarSwapSlot, clock: EventClock): EventSource {
  return createEventSource((tell) => {
    let isStopped = false;
    let callOff: () => void = () => undefined;
    const lookLater = (): void => {
      callOff = clock.afterInBackground(SLOT_LOOK_MS, () => void look());
    };
    const look = async (): Promise<void> => {
      const loss = await slot.look();
      if (isStopped) return;
      if (loss !== null) tell({ kind: "slot_lost", xid: null, ...loss });
      lookLater();
    };
    lookLater();
    return () => {
      isStopped = true;
      callOff();
    };
  });
}
