/** How a bridge is told to stop: the first signal asks, the second insists. */
import type { Bridge } from "../../bridge/mod.ts";
import type { Log } from "../../base/mod.ts";
import type { LeaveSignal, Surroundings } from "../surroundings.ts";

/** Longest wait for running jobs after the first signal: half of what container engines allow. */
const STOP_WAIT_MS = 5_000;

export type BridgeStop = {
  /** The first signal that came; null until then. */
  readonly signal: () => LeaveSignal | null;
  /** Resolves when the first signal comes. */
  readonly asked: Promise<undefined>;
  /** Resolves when there is no more waiting for running jobs. */
  readonly atOnce: Promise<undefined>;
  readonly forget: () => void;
};

/** From now on a signal stops the bridge. */
export function stopOnSignal(
  surroundings: Pick<Surroundings, "onSignal">,
  bridge: Pick<Bridge, "stop">,
  log: Log,
): BridgeStop {
  let first: LeaveSignal | null = null;
  let timer: NodeJS.Timeout | undefined;
  const asked = deferred();
  const insisted = deferred();
  const forget = surroundings.onSignal((signal) => {
    if (first !== null) {
      log(`${signal}, the second: leaving at once`);
      insisted.resolve();
      return;
    }
    first = signal;
    log(`${signal}: no further jobs; those that run have ${STOP_WAIT_MS / 1000} s to end`);
    timer = setTimeout(() => {
      log("a job still runs; it is left without a done record, and so is run again next time");
      insisted.resolve();
    }, STOP_WAIT_MS);
    bridge.stop();
    asked.resolve();
  });
  return {
    signal: () => first,
    asked: asked.promise,
    atOnce: insisted.promise,
    forget: () => {
      forget();
      clearTimeout(timer);
    },
  };
}

type Deferred = { readonly promise: Promise<undefined>; readonly resolve: () => void };

function deferred(): Deferred {
  let settle: (value: undefined) => void = () => undefined;
  const promise = new Promise<undefined>((resolve) => (settle = resolve));
  return { promise, resolve: () => settle(undefined) };
}
