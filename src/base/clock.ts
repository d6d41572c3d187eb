/** Time as an argument, so that tests and the simulator can bring their own. */
export type Clock = {
  /** Milliseconds since some fixed point; never goes back. */
  readonly nowMs: () => number;
  /** Resolves after at least `ms` milliseconds. */
  readonly sleep: (ms: number) => Promise<void>;
};

/** The machine's own monotonic clock. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};
