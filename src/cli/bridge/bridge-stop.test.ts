import assert from "node:assert/strict";
import { mock, suite, test } from "node:test";
import type { LeaveSignal } from "../surroundings.ts";
import { stopOnSignal, type BridgeStop } from "./bridge-stop.ts";

type Stage = {
  readonly stop: BridgeStop;
  readonly send: (signal: LeaveSignal) => void;
  /** What was done, in order: log lines, and `STOP`. */
  readonly events: readonly string[];
};

function stage(): Stage {
  const events: string[] = [];
  let listener: ((signal: LeaveSignal) => void) | null = null;
  const stop = stopOnSignal(
    {
      onSignal: (added) => {
        listener = added;
        return () => (listener = null);
      },
    },
    { stop: () => events.push("STOP") },
    (text) => events.push(text),
  );
  return { stop, events, send: (signal) => listener?.(signal) };
}

/** True where the promise has settled by now. */
async function isSettled(promise: Promise<undefined>): Promise<boolean> {
  const pending = Symbol("pending");
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

suite("a bridge's stop", () => {
  test("is asked for by the first signal, and insisted on by the second", async () => {
    const { stop, send, events } = stage();
    assert.equal(stop.signal(), null);
    assert.deepEqual([await isSettled(stop.asked), await isSettled(stop.atOnce)], [false, false]);
    send("SIGTERM");
    assert.equal(stop.signal(), "SIGTERM");
    assert.deepEqual([await isSettled(stop.asked), await isSettled(stop.atOnce)], [true, false]);
    send("SIGINT");
    assert.equal(stop.signal(), "SIGTERM", "the first one counts");
    assert.equal(await isSettled(stop.atOnce), true);
    assert.deepEqual(events, [
      "SIGTERM: no further jobs; those that run have 5 s to end",
      "STOP",
      "SIGINT, the second: leaving at once",
    ]);
    stop.forget();
  });

  test("does not wait for ever", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const { stop, send, events } = stage();
    send("SIGHUP");
    mock.timers.tick(4_999);
    assert.equal(await isSettled(stop.atOnce), false);
    mock.timers.tick(1);
    assert.equal(await isSettled(stop.atOnce), true);
    assert.match(events.at(-1) ?? "", /^a job still runs; it is left without a done record/);
    stop.forget();
    mock.timers.reset();
  });

  test("that is forgotten hears no signal and lets no timer run", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const { stop, send, events } = stage();
    send("SIGHUP");
    stop.forget();
    send("SIGHUP");
    mock.timers.tick(60_000);
    assert.equal(await isSettled(stop.atOnce), false);
    assert.equal(events.length, 2);
    mock.timers.reset();
  });
});
