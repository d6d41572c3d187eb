import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { VirtualClock } from "./virtual-clock.ts";

const never = (): boolean => false;

test("VirtualClock wakes sleepers in the order of their time, at once", async () => {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const sleeper = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    woken.push(`${name}@${String(clock.nowMs())}`);
  };
  void sleeper("late", 3_600_000);
  void sleeper("first", 1);
  void sleeper("second", 1);
  assert.equal(await clock.run(never, Infinity), "idle");
  assert.deepEqual(woken, ["first@1", "second@1", "late@3600000"]);
});

test("VirtualClock stops at its limit, when done, and with nothing planned", async () => {
  const clock = new VirtualClock();
  let count = 0;
  clock.after(10, () => (count += 1));
  const cancel = clock.after(20, () => (count += 10));
  assert.equal(await clock.run(never, 9), "late");
  assert.deepEqual([clock.nowMs(), count], [0, 0]);
  assert.equal(await clock.run(() => count === 1, 100), "done");
  cancel();
  assert.equal(await clock.run(never, 100), "idle");
  assert.deepEqual([clock.nowMs(), count], [10, 1]);
});

test("VirtualClock: any plan runs in the order of time, then of planning", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 60 }), async (delays) => {
      const clock = new VirtualClock();
      const ran: (readonly [number, number])[] = [];
      delays.forEach((ms, index) => clock.after(ms, () => ran.push([ms, index])));
      assert.equal(await clock.run(never, Infinity), "idle");
      const expected = delays.map((ms, index) => [ms, index] as const);
      expected.sort(([a, i], [b, j]) => a - b || i - j);
      assert.deepEqual(ran, expected);
    }),
  );
});
