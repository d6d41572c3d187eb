import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { createRandom } from "./random.ts";

const draw = (seed: number, count = 8): readonly number[] => {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => random.below(1000));
};

test("createRandom() gives the same numbers for the same seed, and others for another", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (seed) => {
      assert.deepEqual(draw(seed), draw(seed));
      assert.notDeepEqual(draw(seed), draw(seed + 1));
    }),
  );
  assert.deepEqual(draw(1, 4), draw(1, 8).slice(0, 4));
});

test("createRandom() is even enough, and stays within its bounds", () => {
  const random = createRandom(7);
  const counts = new Array<number>(10).fill(0);
  for (let at = 0; at < 10_000; at++) {
    const digit = random.below(10);
    counts[digit] = (counts[digit] ?? 0) + 1;
    const value = random.between(-2, 3);
    assert.ok(value >= -2 && value < 3);
  }
  assert.ok(
    counts.every((count) => count > 900 && count < 1100),
    String(counts),
  );
});

test("createRandom().fork() depends on seed and purpose, and not on what was drawn before", () => {
  const [used, fresh] = [createRandom(3), createRandom(3)];
  used.next();
  const [one, same, other] = [used.fork("a"), fresh.fork("a"), fresh.fork("b")];
  assert.equal(one.next(), same.next());
  assert.notEqual(one.next(), other.next());
  assert.notEqual(createRandom(4).fork("a").next(), createRandom(3).fork("a").next());
});
