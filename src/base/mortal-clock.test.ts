import assert from "node:assert/strict";
import { test } from "node:test";
import { createMortalClock } from "./mortal-clock.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("createMortalClock(): once it is ended, nothing that was planned on it happens", async () => {
  const clock = new VirtualClock();
  const happened: string[] = [];
  const plan = (name: string, { clock: on }: ReturnType<typeof createMortalClock>): void => {
    on.after(1, () => happened.push(`${name} after`));
    on.afterInBackground(2, () => happened.push(`${name} in background`));
    void on.sleep(3).then(() => happened.push(`${name} slept`));
    void on.turn().then(() => happened.push(`${name} turned`));
  };
  const [living, ended] = [createMortalClock(clock), createMortalClock(clock)];
  plan("living", living);
  plan("ended", ended);
  ended.end();
  plan("ended later", ended);
  assert.equal(await clock.run(() => false, Infinity), "idle");
  assert.deepEqual(
    happened,
    ["turned", "after", "in background", "slept"].map((what) => `living ${what}`),
  );
  assert.equal(ended.clock.nowMs(), 3);
});

test("createMortalClock(): what is called off does not happen", async () => {
  const clock = new VirtualClock();
  const mortal = createMortalClock(clock);
  mortal.clock.after(1, () => assert.fail("it was called off"))();
  assert.equal(await clock.run(() => false, Infinity), "idle");
});
