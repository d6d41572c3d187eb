import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventClock } from "../base/mod.ts";
import { GpuError } from "./error.ts";
import type { GpuEvent, Stream } from "./gpu.ts";
import { waitUntilIdle, waitUntilReached } from "./wait.ts";

const nothing = (): void => undefined;

function streamOf(isIdle: () => boolean): Stream {
  const launch: Stream["launch"] = () => ({ ok: true, value: undefined });
  const calls = { copyIn: nothing, copyOut: nothing, fill: nothing, record: nothing };
  return { ...calls, launch, close: nothing, isIdle };
}

/** A clock that moves `stepMs` whenever it is read, and by what is slept. */
function steppingClock(stepMs: number): EventClock & { readonly slept: number[] } {
  let nowMs = 0;
  const slept: number[] = [];
  return {
    slept,
    nowMs: () => (nowMs += stepMs),
    sleep: (ms) => {
      slept.push(ms);
      nowMs += ms;
      return Promise.resolve();
    },
    after: () => nothing,
    afterInBackground: () => nothing,
    turn: () => Promise.resolve(),
    movesByItself: true,
  };
}

test("waitUntilIdle of an idle stream asks once", async () => {
  let asked = 0;
  const stream = streamOf(() => {
    asked += 1;
    return true;
  });
  assert.equal(await waitUntilIdle(stream), "done");
  assert.equal(asked, 1);
});

test("waitUntilIdle spins, then takes turns, then sleeps", async () => {
  const clock = steppingClock(0.04);
  let asked = 0;
  const stream = streamOf(() => {
    asked += 1;
    return asked > 60;
  });
  assert.equal(await waitUntilIdle(stream, { clock }), "done");
  assert.ok(clock.slept.length > 0 && clock.slept.length < 20);
  assert.ok(clock.slept.every((ms) => ms === 1));
});

test("waitUntilIdle lets the event loop run while it waits", async () => {
  let isDone = false;
  setTimeout(() => {
    isDone = true;
  }, 5);
  assert.equal(await waitUntilIdle(streamOf(() => isDone)), "done");
});

test("waitUntilIdle gives up at the timeout", async () => {
  const clock = steppingClock(1);
  assert.equal(
    await waitUntilIdle(
      streamOf(() => false),
      { clock, timeoutMs: 50 },
    ),
    "timeout",
  );
});

test("waitUntilIdle with a timeout of 0 still takes what is done", async () => {
  assert.equal(
    await waitUntilIdle(
      streamOf(() => true),
      { timeoutMs: 0 },
    ),
    "done",
  );
  assert.equal(
    await waitUntilIdle(
      streamOf(() => false),
      { timeoutMs: 0 },
    ),
    "timeout",
  );
});

test("waitUntilReached passes GpuError on", async () => {
  const lost = new GpuError({
    code: 700,
    errorName: "CUDA_ERROR_ILLEGAL_ADDRESS",
    call: "cuEventQuery",
    sticky: true,
  });
  let asked = 0;
  const event: GpuEvent = {
    isReached: () => {
      asked += 1;
      if (asked === 3) throw lost;
      return false;
    },
    elapsedNs: () => 0,
    close: nothing,
  };
  await assert.rejects(waitUntilReached(event), lost);
});
