/** Waiting for what happens elsewhere. */
import assert from "node:assert/strict";

/** Longest wait. The slowest thing waited for is a pause of a second; a busy host adds to it. */
const WAIT_MS_MAX = 20_000;

const LOOK_MS = 10;

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

export async function untilTrue(isTrue: () => boolean, timeoutMs = WAIT_MS_MAX): Promise<void> {
  const start = performance.now();
  while (!isTrue()) {
    assert.ok(performance.now() - start < timeoutMs, "waited in vain");
    await pause(LOOK_MS);
  }
}
