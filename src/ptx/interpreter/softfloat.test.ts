import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { bitsOfDouble, bitsOfSingle, doubleOfBits, singleOfBits } from "../ir/encode.ts";
import type { Rounding } from "../ir/types.ts";
import {
  addFloat,
  convertFloat,
  divideFloat,
  fuseFloat,
  inverseRootFloat,
  multiplyFloat,
  plain,
  rootFloat,
} from "./softfloat.ts";

// The machine's own arithmetic is the reference: f64 as JavaScript has it, and f32 through
// Math.fround, which is exact for one operation on two f32: a double has more than 2 * 24 + 2 bits.

const double = plain("f64", "rn");
const single = plain("f32", "rn");

/** Bit patterns of any kind, with those near the edges of the format more often. */
const bits64 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  fc.constantFrom(0n, 1n << 63n, 1n, 0x000fffffffffffffn, 0x0010000000000000n),
  fc.constantFrom(0x7fefffffffffffffn, 0x7ff0000000000000n, 0xfff0000000000000n),
);
const bits32 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }),
  fc.constantFrom(0n, 1n << 31n, 1n, 0x007fffffn, 0x00800000n, 0x7f7fffffn, 0x7f800000n),
);

function agree(found: bigint, expected: number, isSingle: boolean): void {
  const value = isSingle ? singleOfBits(found) : doubleOfBits(found);
  assert.ok(Object.is(value, isSingle ? Math.fround(expected) : expected));
}

suite("property: round to nearest is the machine's own", () => {
  const binaries = [
    ["add", addFloat, (a: number, b: number) => a + b],
    ["multiply", multiplyFloat, (a: number, b: number) => a * b],
    ["divide", divideFloat, (a: number, b: number) => a / b],
  ] as const;
  for (const [name, soft, hard] of binaries) {
    test(`${name} f64`, () => {
      fc.assert(
        fc.property(bits64, bits64, (a, b) => {
          agree(soft(double, a, b), hard(doubleOfBits(a), doubleOfBits(b)), false);
        }),
        { numRuns: 300 },
      );
    });
    test(`${name} f32`, () => {
      fc.assert(
        fc.property(bits32, bits32, (a, b) => {
          agree(soft(single, a, b), hard(singleOfBits(a), singleOfBits(b)), true);
        }),
        { numRuns: 300 },
      );
    });
  }
  test("square root f64 and f32, and f64 to f32", () => {
    fc.assert(
      fc.property(bits64, bits32, (a, b) => {
        agree(rootFloat(double, a), Math.sqrt(doubleOfBits(a)), false);
        agree(rootFloat(single, b), Math.sqrt(singleOfBits(b)), true);
        agree(convertFloat("f64", a, single), doubleOfBits(a), true);
      }),
      { numRuns: 300 },
    );
  });
});

test("property: fma with a zero addend, or a factor of one, is the plain operation", () => {
  const one = bitsOfDouble(1);
  fc.assert(
    fc.property(bits64, bits64, (a, b) => {
      agree(fuseFloat(double, [a, one, b]), doubleOfBits(a) + doubleOfBits(b), false);
      const product = doubleOfBits(a) * doubleOfBits(b);
      if (product !== 0) agree(fuseFloat(double, [a, b, 0n]), product, false);
    }),
    { numRuns: 300 },
  );
});

test("fma rounds once: the square of 1 + 2^-30 less its head leaves 2^-60", () => {
  const a = bitsOfDouble(1 + 2 ** -30);
  const head = bitsOfDouble(-(1 + 2 ** -29));
  assert.equal(doubleOfBits(fuseFloat(double, [a, a, head])), 2 ** -60);
  // Control: in two steps, the tail is lost.
  assert.equal(doubleOfBits(addFloat(double, multiplyFloat(double, a, a), head)), 0);
});

test("property: directed roundings enclose the value, and are neighbours or equal", () => {
  const at = (rounding: Rounding, a: bigint, b: bigint): number =>
    singleOfBits(divideFloat(plain("f32", rounding), a, b));
  fc.assert(
    fc.property(bits32, bits32, (a, b) => {
      const [down, up, nearest, zero] = [
        at("rm", a, b),
        at("rp", a, b),
        at("rn", a, b),
        at("rz", a, b),
      ];
      if (Number.isNaN(nearest)) return;
      assert.ok(down <= nearest && nearest <= up);
      assert.ok(Object.is(nearest, down) || Object.is(nearest, up));
      assert.ok(Object.is(zero, Math.abs(down) < Math.abs(up) || Object.is(down, up) ? down : up));
    }),
    { numRuns: 300 },
  );
});

test("inverse square roots of powers of four are exact, and others are close", () => {
  assert.equal(singleOfBits(inverseRootFloat(single, bitsOfSingle(0.25))), 2);
  assert.equal(singleOfBits(inverseRootFloat(single, 1n)), Math.fround(1 / Math.sqrt(2 ** -149)));
  for (const value of [2, 3, 10, 1e-30, 3e38]) {
    const found = singleOfBits(inverseRootFloat(single, bitsOfSingle(value)));
    assert.equal(found, Math.fround(1 / Math.sqrt(Math.fround(value))));
  }
});
