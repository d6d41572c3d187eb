import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addOnes,
  PROBE_THREADS,
  referenceMail,
  referenceProbe,
  referenceSlowAdd,
  referenceSumF64,
  referenceVadd,
  referenceVaddMutated,
} from "./reference.ts";

/** The definition itself: one addition and one rounding at a time. */
function addOnesSlowly(value: number, iterations: number): number {
  let sum = Math.fround(value);
  for (let done = 0; done < iterations; done++) sum = Math.fround(sum + 1);
  return sum;
}

const LIMIT = 2 ** 24;

const counted: readonly (readonly [value: number, iterations: number, expected: number])[] = [
  [0, 0, 0],
  [-0, 0, -0],
  [0, 7, 7],
  [1023, LIMIT - 1024, LIMIT - 1],
  [1023, LIMIT - 1023, LIMIT],
  [1023, LIMIT, LIMIT],
  [0, 2 ** 32 - 1, LIMIT],
  [LIMIT, 5, LIMIT],
  [LIMIT + 2, 1, LIMIT + 4],
  [LIMIT + 2, 9, LIMIT + 4],
  [2 ** 25, 9, 2 ** 25],
  [-(LIMIT + 2), 1, -LIMIT],
  [-(2 ** 26), 9, -(2 ** 26)],
  [-3, 3, 0],
  [Infinity, 3, Infinity],
  [-Infinity, 3, -Infinity],
  [NaN, 3, NaN],
];

for (const [value, iterations, expected] of counted) {
  test(`addOnes(${value}, ${iterations}) is ${expected}`, () => {
    assert.ok(Object.is(addOnes(value, iterations), expected));
  });
}

const anyFloat = fc.oneof(
  fc.float({ noNaN: true }),
  fc.integer({ min: 0, max: 1023 }),
  fc.float({ min: -4096, max: 4096, noNaN: true }),
  fc.integer({ min: LIMIT - 3000, max: LIMIT + 64 }),
  fc.integer({ min: -LIMIT - 64, max: -LIMIT + 64 }),
);

test("addOnes is repeated adding, for every kind of float", () => {
  fc.assert(
    fc.property(anyFloat, fc.integer({ min: 0, max: 5000 }), (value, iterations) => {
      assert.ok(Object.is(addOnes(value, iterations), addOnesSlowly(value, iterations)));
    }),
    { numRuns: 300 },
  );
});

test("referenceSlowAdd does each element for itself", () => {
  const input = Float32Array.of(0, 1023, 0.1, -2.5);
  assert.deepEqual(
    referenceSlowAdd(input, 100),
    input.map((value) => addOnesSlowly(value, 100)),
  );
});

test("referenceVadd rounds once, referenceVaddMutated twice", () => {
  const [a, b] = [Float32Array.of(2 ** 24, 0.1, -0), Float32Array.of(1, 0.2, -0)];
  assert.deepEqual(
    referenceVadd(a, b),
    Float32Array.of(2 ** 24, Math.fround(Math.fround(0.1) + Math.fround(0.2)), -0),
  );
  // Added in one go, 2^24 + 1 + 1 would be 2^24 + 2.
  assert.equal(referenceVaddMutated(a, b)[0], 2 ** 24);
});

test("referenceMail is a copy, not the same array", () => {
  const input = Uint32Array.of(1, 2, 0xffffffff);
  const output = referenceMail(input);
  assert.deepEqual(output, input);
  assert.notEqual(output.buffer, input.buffer);
});

test("referenceProbe mixes the token with each thread's number in u32", () => {
  const words = referenceProbe(0xdeadbeef);
  assert.equal(words.length, PROBE_THREADS);
  assert.equal(words[0], 0xdeadbeef);
  for (const [thread, word] of words.entries()) {
    const exact = BigInt.asUintN(
      32,
      0xdeadbeefn ^ BigInt.asUintN(32, BigInt(thread) * 2654435761n),
    );
    assert.equal(BigInt(word), exact);
  }
});

test("referenceSumF64 adds every element once, whatever the grid", () => {
  const shape = fc.record({
    elements: fc.integer({ min: 0, max: 3000 }),
    grid: fc.integer({ min: 1, max: 5 }),
    logBlock: fc.integer({ min: 0, max: 8 }),
  });
  fc.assert(
    fc.property(shape, ({ elements, grid, logBlock }) => {
      const input = Float32Array.from({ length: elements }, (_, index) => index + 1);
      const partials = referenceSumF64(input, grid, 2 ** logBlock);
      assert.equal(partials.length, grid);
      assert.equal(
        partials.reduce((sum, partial) => sum + partial, 0),
        (elements * (elements + 1)) / 2,
      );
    }),
    { numRuns: 100 },
  );
});

test("referenceSumF64 keeps the order that it states", () => {
  // Threads hold 2^53, 1, 1, 0. In halves: 2^53 + 1 rounds to 2^53, 1 + 0 is 1, and their sum
  // rounds to 2^53 again. An order that adds the two ones first would reach 2^53 + 2.
  assert.deepEqual(
    referenceSumF64(Float32Array.of(2 ** 53, 1, 1, 0), 1, 4),
    Float64Array.of(2 ** 53),
  );
});
