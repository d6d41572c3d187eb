/** Atomics.waitAsync, which Node 20 has and the library of its language level does not name. */
type WaitAsync = (
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
) =>
  | { readonly async: false; readonly value: "not-equal" | "timed-out" }
  | { readonly async: true; readonly value: Promise<"ok" | "timed-out"> };

const { waitAsync } = Atomics as unknown as { readonly waitAsync: WaitAsync };

/**
 * Calls `wake`, in a turn of the event loop to come, once the word differs from `value` and whoever
 * changed it has notified. Does not keep the process alive.
 */
export function whenChanged(
  words: Int32Array<SharedArrayBuffer>,
  index: number,
  value: number,
  wake: () => void,
): void {
  const waiting = waitAsync(words, index, value);
  if (waiting.async) void waiting.value.then(wake);
  else queueMicrotask(wake);
}
