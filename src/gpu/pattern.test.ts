import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seedPattern, seedValue, selfTestA, selfTestB } from "./pattern.ts";

/** The stated hash, computed apart from this code. */
const GOLDEN_SEED_1 = [804, 381, 839, 15];

test("the self-test's patterns wrap at 1000 and at 997", () => {
  const [a, b] = [selfTestA(2001), selfTestB(2001)];
  assert.deepEqual([a[0], a[999], a[1000], a[2000]], [0, 499.5, 0, 0]);
  assert.deepEqual([b[0], b[996], b[997], b[2000]], [0, 249, 0, 1.5]);
});

test("seed values are integers in 0..1023 for every seed and index", () => {
  const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  fc.assert(
    fc.property(word, word, (seed, index) => {
      const value = seedValue(seed, index);
      assert.ok(Number.isInteger(value) && value >= 0 && value <= 1023);
    }),
  );
});

test("the seed pattern is the same every time, and what it was when it was written", () => {
  assert.deepEqual(seedPattern(42, 1000), seedPattern(42, 1000));
  assert.deepEqual(Array.from(seedPattern(1, 4)), GOLDEN_SEED_1);
});

test("neighbouring seeds and neighbouring elements differ nearly everywhere", () => {
  const [one, two] = [seedPattern(1, 10_000), seedPattern(2, 10_000)];
  const sameSeed = one.filter((value, index) => value === two[index]).length;
  const sameElement = one.filter((value, index) => value === one[index + 1]).length;
  // Chance alone gives about ten.
  assert.ok(sameSeed < 100, `${sameSeed} elements are the same under two seeds`);
  assert.ok(sameElement < 100, `${sameElement} elements equal the next one`);
});

test("the seed pattern uses its whole range about evenly", () => {
  const counts = new Uint32Array(1024);
  const values = seedPattern(7, 102_400);
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  assert.ok(Math.min(...counts) > 30 && Math.max(...counts) < 200);
});
