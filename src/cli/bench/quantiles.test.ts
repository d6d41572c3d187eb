import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { quantilesOf } from "./quantiles.ts";

test("quantiles are measured values, by nearest rank", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(quantilesOf(hundred), {
    ...{ count: 100, min: 1, p50: 50, p95: 95, p99: 99, max: 100 },
  });
  assert.deepEqual(quantilesOf([7]), { count: 1, min: 7, p50: 7, p95: 7, p99: 7, max: 7 });
  assert.deepEqual(quantilesOf([3, 1]), { count: 2, min: 1, p50: 1, p95: 3, p99: 3, max: 3 });
});

test("of nothing there are none", () => {
  assert.throws(() => quantilesOf([]));
});

test("half of all values are at most the median, and so on", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true }), { minLength: 1 }), (values) => {
      const { min, p50, p95, p99 } = quantilesOf(values);
      const share = (limit: number): number =>
        values.filter((value) => value <= limit).length / values.length;
      assert.equal(min, Math.min(...values));
      for (const [quantile, part] of [
        [p50, 0.5],
        [p95, 0.95],
        [p99, 0.99],
      ] as const) {
        assert.ok(values.includes(quantile) && share(quantile) >= part);
      }
    }),
  );
});
