/** Runs one task at a time, in the order of asking. */
export type Mutex = {
  readonly run: <T>(task: () => Promise<T>) => Promise<T>;
  readonly isLocked: () => boolean;
};

/** A fair lock for asynchronous tasks; a task that throws passes the lock on. */
export function createMutex(): Mutex {
  let tail: Promise<unknown> = Promise.resolve();
  let pending = 0;
  return {
    run: (task) => {
      pending += 1;
      const result = tail.then(task);
      tail = result.then(
        () => (pending -= 1),
        () => (pending -= 1),
      );
      return result;
    },
    isLocked: () => pending > 0,
  };
}
