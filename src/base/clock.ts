/** Time as an argument, so that tests and the simulator can bring their own. */
export type Clock = {
  /** Milliseconds since some fixed point; never goes back. */
  readonly nowMs: () => number;
  /** Resolves after at least `ms` milliseconds. */
  readonly sleep: (ms: number) => Promise<void>;
};

/** A clock that also runs what is to be done later. */
export type EventClock = Clock & {
  /** Runs `action` after at least `ms`; the returned function calls that off. */
  readonly after: (ms: number, action: () => void) => () => void;
  /** As `after`, but whose waiting alone keeps no process alive. */
  readonly afterInBackground: (ms: number, action: () => void) => () => void;
  /** Resolves on a later turn of the event loop, so that others run in between. */
  readonly turn: () => Promise<void>;
  /**
   * Whether time goes on while one asks for it again and again. Where it does not, to wait by
   * asking without a pause would be to wait for ever.
   */
  readonly movesByItself: boolean;
};

/** The machine's own monotonic clock. */
export const systemClock: EventClock = {
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
  afterInBackground: (ms, action) => {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
  movesByItself: true,
};
