import { err, invariant, ok, type EventClock, type Log, type Result } from "../base/mod.ts";
import type { Board, BoardDie, BoardFailure, CountedDevice, DriverBinding } from "./board.ts";
import { STEP_TIMEOUTS } from "./board-step.ts";
import { openKernelLog, type KernelLogSource } from "./kernel-log.ts";
import { createKernelWatch } from "./kernel-watch.ts";
import { formatPciAddress, parsePciAddress } from "./pci-address.ts";
import { presenceOf } from "./presence.ts";
import { createStepRunner, type StepLauncher } from "./step-runner.ts";

/** What there is to ask beside the driver, where the devices are PCI functions. */
export type DirectHardware = {
  /** `/`, or a folder that stands for it. */
  readonly root: string;
  readonly launchStep: StepLauncher;
  readonly clock: EventClock;
  readonly log: Log;
  /** Opens the kernel's log; that of `root` where it is left out. */
  readonly openKernelLog?: () => KernelLogSource;
};

/** A process for looks ends when there was none for this long: it holds some 40 MB. */
const LOOKS_IDLE_MS = 30_000;

/** On a direct board the driver is loaded, and has every die, before we come. */
const boundDriver: DriverBinding = {
  isLoaded: () => true,
  isBound: () => true,
  blockAllExcept: () => Promise.resolve(ok(undefined)),
  load: () => {
    invariant(false, "the driver is loaded exactly once, and on a direct board not by us");
  },
  unblock: () => Promise.resolve(ok(undefined)),
  bind: () => Promise.resolve(ok(undefined)),
  unbind: () =>
    Promise.resolve(
      err({ verdict: "refused", call: "unbind", message: "the driver is not ours on this board" }),
    ),
  holders: () => Promise.resolve([]),
  restore: () => Promise.resolve(),
};

const dieOf = (device: CountedDevice, die: number): BoardDie => ({
  die,
  address: device.pciAddress ?? `soft:${String(device.ordinal)}`,
  name: device.name,
});

/**
 * Every die is mapped at all times, and the driver counts them all. `dies` null means one die a
 * device; a number lets dies share devices in turn, each with a context of its own.
 */
export function createDirectBoard(options: {
  readonly dies: number | null;
  /** Null, or left out: nothing is asked, and nothing is noticed. */
  readonly hardware?: DirectHardware | null;
}): Board {
  let known: readonly BoardDie[] = [];
  const senses = createSenses(options.hardware ?? null, () => known);
  return {
    slotKind: "direct",
    driver: boundDriver,
    discover: async (inventory): Promise<Result<readonly BoardDie[], BoardFailure>> => {
      const devices = await inventory();
      if (!devices.ok) return devices;
      const [first] = devices.value;
      if (first === undefined)
        return err({
          verdict: "refused",
          call: "discover",
          message: "the driver counts no device",
        });
      const count = options.dies ?? devices.value.length;
      known = Array.from({ length: count }, (_, die) =>
        dieOf(devices.value[die % devices.value.length] ?? first, die),
      );
      return ok(known);
    },
    occupant: () => null,
    acquire: (die) => Promise.resolve(ok({ die, bar1Address: 0n })),
    ordinalOf: (die, devices) => (devices.length === 0 ? null : die.die % devices.length),
    hostGroupOf: (die) => die,
    ...senses,
  };
}

/** How lost dies are noticed beside their driver: by the bus, and by the kernel's log. */
function createSenses(
  hardware: DirectHardware | null,
  dies: () => readonly BoardDie[],
): Pick<Board, "presence" | "watch" | "leave"> {
  if (hardware === null) {
    return {
      presence: () => Promise.resolve("unknown"),
      watch: () => () => undefined,
      leave: () => undefined,
    };
  }
  const { root, clock, log: onNote, launchStep: launch } = hardware;
  const looks = createStepRunner({ launch, clock, root, idleMs: LOOKS_IDLE_MS });
  const presence = { looks, timeoutMs: STEP_TIMEOUTS.presenceMs };
  const open = hardware.openKernelLog ?? ((): KernelLogSource => openKernelLog(root));
  const kernel = createKernelWatch({ clock, dies, onNote, open });
  const nameOf = (die: number): string | undefined => {
    const address = parsePciAddress(dies()[die]?.address ?? "");
    return address === null ? undefined : formatPciAddress(address);
  };
  return {
    presence: (die) => presenceOf(presence, nameOf(die)),
    // The log says nothing of devices that are no PCI functions.
    watch: (listener) =>
      dies().some(({ die }) => nameOf(die) !== undefined)
        ? kernel.watch(listener)
        : (): void => undefined,
    leave: () => {
      kernel.close();
      looks.end();
    },
  };
}
