import assert from "node:assert/strict";
import { test } from "node:test";
import { InvariantError } from "../base/mod.ts";
import { selfTestA, selfTestB, WORK_ELEMENTS } from "./pattern.ts";
import { referenceVadd, referenceVaddMutated } from "./reference.ts";
import { checksumF64, compareF32, compareU32 } from "./verify.ts";

const floats = (...values: number[]): Float32Array => Float32Array.from(values);

test("compareF32 finds nothing where all is equal", () => {
  assert.deepEqual(compareF32(floats(1, -0, Infinity), floats(1, -0, Infinity)), {
    bad: 0,
    firstBad: null,
    checked: 3,
  });
});

test("compareF32 counts all wrong elements and names the first", () => {
  assert.deepEqual(compareF32(floats(1, 2, 3, 4), floats(1, 2.5, 3, 5)), {
    bad: 2,
    firstBad: { index: 1, expected: 2, actual: 2.5 },
    checked: 4,
  });
});

test("compareF32 tells one unit in the last place", () => {
  assert.equal(compareF32(floats(1), floats(1 + 2 ** -23)).bad, 1);
});

test("compareF32 tells -0 from +0", () => {
  assert.equal(compareF32(floats(-0), floats(0)).bad, 1);
});

test("compareF32 takes any NaN for a NaN, and nothing else", () => {
  const other = new Float32Array(Uint32Array.of(0xffc00001).buffer);
  assert.equal(compareF32(floats(NaN), other).bad, 0);
  assert.equal(compareF32(floats(NaN), floats(0)).bad, 1);
  assert.equal(compareF32(floats(0), floats(NaN)).bad, 1);
});

test("compareF32 respects where in its buffer an array begins", () => {
  const values = floats(9, 1, 2);
  assert.equal(compareF32(floats(1, 2), values.subarray(1)).bad, 0);
});

test("compareF32 of different lengths is a bug", () => {
  assert.throws(() => compareF32(floats(1), floats(1, 2)), InvariantError);
});

test("compareU32 compares words", () => {
  assert.deepEqual(compareU32(Uint32Array.of(1, 2), Uint32Array.of(1, 3)), {
    bad: 1,
    firstBad: { index: 1, expected: 2, actual: 3 },
    checked: 2,
  });
  assert.equal(compareU32(Uint32Array.of(7), Uint32Array.of(7)).bad, 0);
});

test("the self-test's checksum is the published one, and the mutation's is n more", () => {
  const [a, b] = [selfTestA(WORK_ELEMENTS), selfTestB(WORK_ELEMENTS)];
  const sums = referenceVadd(a, b);
  const mutated = referenceVaddMutated(a, b);
  assert.equal(checksumF64(sums), 392344090.5);
  assert.equal(checksumF64(mutated), 392344090.5 + WORK_ELEMENTS);
  const comparison = compareF32(sums, mutated);
  assert.equal(comparison.bad, WORK_ELEMENTS);
  assert.deepEqual(comparison.firstBad, { index: 0, expected: 0, actual: 1 });
});

test("the checksum of our patterns does not depend on the order", () => {
  const sums = referenceVadd(selfTestA(5000), selfTestB(5000));
  assert.equal(checksumF64(sums), checksumF64(sums.slice().reverse()));
});
