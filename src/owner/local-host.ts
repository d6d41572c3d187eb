/**
 * Die hosts in this process, over the real protocol: for tests, and for the simulator, which brings
 * a clock of its own. Everything above the port is the real code.
 */
import { createMortalClock, type EventClock } from "../base/mod.ts";
import { DieHost, type DieHostOptions } from "./die-host.ts";
import type { HostLauncher, HostTransport } from "./host-link.ts";

/** A die host of this process. */
export type LocalHost = {
  readonly pid: number;
  /** Ends it as SIGKILL would: nothing that it has begun goes on. */
  readonly kill: () => void;
};

export type LocalLauncherOptions = {
  readonly clock: EventClock;
  /** Opens the backend of one host; called on its first `initialise`. */
  readonly openGpu: (host: LocalHost) => ReturnType<DieHostOptions["openGpu"]>;
  /** How long the host's thread is still held up by a call, in milliseconds; 0 by default. */
  readonly busyMs?: (host: LocalHost) => number;
  readonly stagingBytes?: number;
  /** An invariant broke in a host, which then ends. Where it is left out, this process does. */
  readonly onBug?: (error: unknown, host: LocalHost) => void;
  readonly onStart?: (host: LocalHost) => void;
  /** Called as a host ends, before its owner hears of it. */
  readonly onEnd?: (host: LocalHost) => void;
};

export type LocalLauncher = {
  readonly launch: HostLauncher;
  readonly killAll: () => void;
  readonly alive: () => number;
};

/** Starts hosts in this process. */
export function createLocalLauncher(options: LocalLauncherOptions): LocalLauncher {
  const alive = new Set<LocalHost>();
  let started = 0;
  const launch: HostLauncher = () => {
    started += 1;
    return startHost(options, started, alive);
  };
  const killAll = (): void => [...alive].forEach(({ kill }) => kill());
  return { launch, killAll, alive: () => alive.size };
}

function startHost(
  options: LocalLauncherOptions,
  pid: number,
  alive: Set<LocalHost>,
): HostTransport {
  const { clock, openGpu, busyMs = () => 0, stagingBytes, onBug } = options;
  const mortal = createMortalClock(clock);
  let toOwner: (frame: Buffer) => void = () => undefined;
  let ended: (how: string) => void = () => undefined;
  const end = (how: string): void => {
    if (!alive.delete(host)) return;
    mortal.end();
    options.onEnd?.(host);
    void clock.turn().then(() => ended(how));
  };
  const kill = (): void => end("was killed by SIGKILL");
  const host: LocalHost = { pid, kill };
  /** Frames wait for the thread, which is held up by calls of the driver, and keep their order. */
  const carry = (deliver: () => void): void => {
    const waitMs = busyMs(host);
    // A thread that is stuck for ever neither takes nor sends anything.
    if (waitMs === Infinity) return;
    if (waitMs > 0) mortal.clock.after(waitMs, () => carry(deliver));
    else void mortal.clock.turn().then(deliver);
  };
  const dieHost = new DieHost({
    openGpu: () => openGpu(host),
    write: (frame) => carry(() => toOwner(frame)),
    clock: mortal.clock,
    // After the reply, which takes the same way.
    onTornDown: () => carry(() => end("ended with code 0")),
    ...(stagingBytes === undefined ? {} : { stagingBytes }),
    ...(onBug === undefined
      ? {}
      : {
          onBug: (error): void => {
            onBug(error, host);
            kill();
          },
        }),
  });
  alive.add(host);
  options.onStart?.(host);
  return {
    pid,
    write: (frame) => carry(() => dieHost.receive(frame)),
    onData: (listener) => void (toOwner = listener),
    onEnd: (listener) => void (ended = listener),
    kill,
  };
}
