/** What gives board events to whoever listens, and runs only while somebody does. */
import type { Board, BoardEvent } from "./board.ts";

export type EventSource = Pick<Board, "watch"> & {
  /** Ends it, whoever still listens. */
  readonly close: () => void;
};

/** `start` begins to tell of events, and returns what ends that. */
export function createEventSource(
  start: (tell: (event: BoardEvent) => void) => () => void,
): EventSource {
  const listeners = new Set<(event: BoardEvent) => void>();
  let stop: (() => void) | null = null;
  const tell = (event: BoardEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const close = (): void => {
    listeners.clear();
    stop?.();
    stop = null;
  };
  return {
    watch: (listener) => {
      listeners.add(listener);
      stop ??= start(tell);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) close();
      };
    },
    close,
  };
}
