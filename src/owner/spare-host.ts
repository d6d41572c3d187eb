/**
 * Keeps one die host started in reserve. Starting a process and loading its code is a third of the
 * time in which a die host is replaced, and can be done beforehand; the reserve opens no backend
 * and touches no device until it is taken.
 */
import type { EventClock } from "../base/mod.ts";
import type { HostLauncher, HostTransport } from "./host-link.ts";

/**
 * The reserve waits for this long, so that it does not compete with a bring-up under way, which
 * takes seconds where the machine is slow.
 */
const SPARE_DELAY_MS = 10_000;

/** A launcher that hands out the reserve where it is up, and starts a new one some time later. */
export function createSpareLauncher(launch: HostLauncher, clock: EventClock): HostLauncher {
  let spare: Spare | null = null;
  let isPlanned = false;
  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    clock.afterInBackground(SPARE_DELAY_MS, () => {
      isPlanned = false;
      spare ??= openSpare(launch());
    });
  };
  return () => {
    const ready = spare;
    spare = null;
    plan();
    return ready?.isAlive() === true ? ready.transport : launch();
  };
}

type Spare = { readonly transport: HostTransport; readonly isAlive: () => boolean };

/** A host says nothing before it is asked, so its end is all that can happen to it in reserve. */
function openSpare(host: HostTransport): Spare {
  let isAlive = true;
  let tellEnd: (how: string) => void = () => undefined;
  host.onEnd((how) => {
    isAlive = false;
    tellEnd(how);
  });
  return {
    isAlive: () => isAlive,
    transport: { ...host, onEnd: (listener) => void (tellEnd = listener) },
  };
}
