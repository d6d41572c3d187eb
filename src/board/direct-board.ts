import { err, invariant, ok, type Result } from "../base/mod.ts";
import type { Board, BoardDie, BoardFailure, CountedDevice, DriverBinding } from "./board.ts";

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
export function createDirectBoard(options: { readonly dies: number | null }): Board {
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
      return ok(
        Array.from({ length: count }, (_, die) =>
          dieOf(devices.value[die % devices.value.length] ?? first, die),
        ),
      );
    },
    occupant: () => null,
    acquire: (die) => Promise.resolve(ok({ die, bar1Address: 0n })),
    ordinalOf: (die, devices) => (devices.length === 0 ? null : die.die % devices.length),
    hostGroupOf: (die) => die,
    presence: () => Promise.resolve("unknown"),
    watch: () => () => undefined,
    leave: () => undefined,
  };
}
