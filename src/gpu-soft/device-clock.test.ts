import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClock } from "./device-clock.ts";

type Case = readonly [startNs: number, endNs: number, elapsedNs: number];

const CASES: readonly Case[] = [
  [0, 100, 100],
  [100, 100, 0],
  [50, 250, 100],
  [150, 250, 50],
  [120, 180, 0],
  [200, 300, 100],
  [0, 1000, 900],
];

test("time in which the workers started counts for nothing", () => {
  const clock = new DeviceClock();
  assert.equal(clock.elapsedNs(50, 250), 200);
  clock.stoodStill(100, 200);
  for (const [startNs, endNs, elapsedNs] of CASES) {
    assert.equal(clock.elapsedNs(startNs, endNs), elapsedNs, `${startNs} to ${endNs}`);
  }
});

test("the clock goes forward", () => {
  const clock = new DeviceClock();
  const first = clock.now();
  assert.ok(first >= 0 && clock.now() >= first);
});
