import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { selfTestA, seedPattern, type ScalarType } from "../gpu/mod.ts";
import type { Pattern } from "./job.ts";
import { fillPattern, patternType, SCALAR_BYTES } from "./pattern-source.ts";

function fill(pattern: Pattern, elements: number): ArrayBuffer {
  const bytes = new Uint8Array(elements * SCALAR_BYTES[patternType(pattern)]);
  fillPattern(pattern)(bytes, 0);
  return bytes.buffer;
}

const types = Object.keys(SCALAR_BYTES) as ScalarType[];

test("fillPattern() gives the patterns that the references know", () => {
  assert.deepEqual(new Float32Array(fill({ kind: "work", seed: 7 }, 5000)), seedPattern(7, 5000));
  const ramp: Pattern = { kind: "ramp", scale: 0.5, modulus: 1000 };
  assert.deepEqual(new Float32Array(fill(ramp, 5000)), selfTestA(5000));
});

test("fillPattern() writes indexes and constants in every type", () => {
  const index = (type: ScalarType): ArrayBuffer => fill({ kind: "index", type }, 3);
  assert.deepEqual([...new Uint32Array(index("u32"))], [0, 1, 2]);
  assert.deepEqual([...new BigInt64Array(index("s64"))], [0n, 1n, 2n]);
  assert.deepEqual([...new Float64Array(index("f64"))], [0, 1, 2]);
  const constant = (type: ScalarType, value: string): ArrayBuffer =>
    fill({ kind: "constant", type, value }, 2);
  assert.deepEqual([...new Int32Array(constant("s32", "-5"))], [-5, -5]);
  assert.deepEqual([...new Int8Array(constant("s8", "-5"))], [-5, -5]);
  assert.deepEqual([...new Uint16Array(constant("u16", "65535"))], [65535, 65535]);
  assert.deepEqual(
    [...new BigUint64Array(constant("u64", "18446744073709551615"))],
    [2n ** 64n - 1n, 2n ** 64n - 1n],
  );
  assert.deepEqual([...new Float32Array(constant("f32", "-Infinity"))], [-Infinity, -Infinity]);
});

test("fillPattern() random: the same seed gives the same data, another one does not", () => {
  for (const type of types) {
    const random = (seed: number): Uint8Array =>
      new Uint8Array(fill({ kind: "random", type, seed }, 1000));
    assert.deepEqual(random(1), random(1));
    assert.notDeepEqual(random(1), random(2));
  }
  const fractions = new Float32Array(fill({ kind: "random", type: "f32", seed: 3 }, 10_000));
  assert.ok(fractions.every((value) => value >= 0 && value < 1));
  const mean = fractions.reduce((sum, value) => sum + value, 0) / fractions.length;
  assert.ok(Math.abs(mean - 0.5) < 0.02);
});

test("fillPattern() gives the same bytes in one piece and in chunks", () => {
  const pattern = fc.oneof(
    fc.record({ kind: fc.constant("index" as const), type: fc.constantFrom(...types) }),
    fc.record({
      kind: fc.constant("random" as const),
      type: fc.constantFrom(...types),
      seed: fc.nat(),
    }),
  );
  fc.assert(
    fc.property(pattern, fc.integer({ min: 1, max: 50 }), fc.nat({ max: 50 }), (made, n, cut) => {
      const elementBytes = SCALAR_BYTES[patternType(made)];
      const bytes = new Uint8Array(n * elementBytes);
      const at = Math.min(cut, n) * elementBytes;
      fillPattern(made)(bytes.subarray(0, at), 0);
      fillPattern(made)(bytes.subarray(at), at);
      assert.deepEqual(bytes, new Uint8Array(fill(made, n)));
    }),
  );
});
