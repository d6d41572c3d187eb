import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { fixedPoint } from "./fixed-point.ts";

// What glibc's printf("%.6f") writes for the same doubles.
const CASES: readonly (readonly [value: number, text: string])[] = [
  [0, "0.000000"],
  [-0, "-0.000000"],
  [392344090.5, "392344090.500000"],
  [393392666.5, "393392666.500000"],
  [-1.25, "-1.250000"],
  [0.1, "0.100000"],
  // Ties go to the even digit; toFixed would give 0.007813 for the first.
  [0.0078125, "0.007812"],
  [0.0234375, "0.023438"],
  [-0.0078125, "-0.007812"],
  [5e-7, "0.000000"],
  [5.000000000000001e-7, "0.000001"],
  [0.9999995, "1.000000"],
  [0.9999999, "1.000000"],
  [5e-324, "0.000000"],
  [2 ** 53, "9007199254740992.000000"],
  [1e21, "1000000000000000000000.000000"],
  [1e23, "99999999999999991611392.000000"],
  [Number.NaN, "nan"],
  [Infinity, "inf"],
  [-Infinity, "-inf"],
];

for (const [value, text] of CASES) {
  test(`fixedPoint(${String(value)}) is ${text}`, () => assert.equal(fixedPoint(value), text));
}

test("fixedPoint() of the largest double is its 309 digits", () => {
  const text = fixedPoint(Number.MAX_VALUE);
  assert.equal(text, `${String(BigInt(Number.MAX_VALUE))}.000000`);
  assert.equal(text.length, 309 + 7);
});

test("property: the text is a number without an exponent, at most half a millionth off", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = fixedPoint(value);
      assert.match(text, /^-?\d+\.\d{6}$/);
      // Below 2^30 a double has digits to spare for this comparison.
      if (Math.abs(value) < 2 ** 30) assert.ok(Math.abs(Number(text) - value) <= 0.5001e-6);
    }),
  );
});
