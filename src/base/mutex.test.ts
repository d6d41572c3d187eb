import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import { createMutex } from "./mutex.ts";

test("createMutex() runs tasks one at a time, in the order of asking", async () => {
  const mutex = createMutex();
  const events: string[] = [];
  const task = (name: string) => async (): Promise<string> => {
    events.push(`${name} begins`);
    await setImmediate();
    events.push(`${name} ends`);
    return name;
  };
  const results = await Promise.all(["a", "b", "c"].map((name) => mutex.run(task(name))));
  assert.deepEqual(results, ["a", "b", "c"]);
  assert.deepEqual(
    events,
    ["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
  assert.equal(mutex.isLocked(), false);
});

test("createMutex() passes the lock on when a task throws", async () => {
  const mutex = createMutex();
  const failing = mutex.run(() => Promise.reject(new Error("no")));
  const next = mutex.run(() => Promise.resolve(7));
  assert.equal(mutex.isLocked(), true);
  await assert.rejects(failing, /no/);
  assert.equal(await next, 7);
});
