import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import type { ScalarType } from "../owner/mod.ts";
import { scalarText } from "./scalar-text.ts";

const CASES: readonly (readonly [ScalarType, bigint, string])[] = [
  ["u8", 255n, "255"],
  ["s8", 255n, "-1"],
  ["s8", 127n, "127"],
  ["s16", 0x8000n, "-32768"],
  ["u32", 0xffff_ffffn, "4294967295"],
  ["s32", 0xffff_ffffn, "-1"],
  ["u64", 2n ** 64n - 1n, "18446744073709551615"],
  ["s64", 2n ** 64n - 1n, "-1"],
  ["f32", 0x3f80_0000n, "1"],
  ["f32", 0x8000_0000n, "-0"],
  ["f32", 0x7f80_0000n, "Infinity"],
  ["f32", 0x7fc0_0001n, "NaN"],
  ["f32", 1n, "1.401298464324817e-45"],
  ["f64", 0x3ff0_0000_0000_0000n, "1"],
  ["f64", 0x8000_0000_0000_0000n, "-0"],
  ["f64", 0xfff0_0000_0000_0000n, "-Infinity"],
];

for (const [type, bits, text] of CASES) {
  test(`0x${bits.toString(16)} as ${type} is ${text}`, () => {
    assert.equal(scalarText(type, bits), text);
  });
}

test("property: every f32 but a NaN comes back with the same bits", () => {
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), (bits) => {
      const value = Number(scalarText("f32", BigInt(bits)));
      if (Number.isNaN(value)) return;
      const again = new Uint32Array(Float32Array.of(value).buffer)[0];
      assert.equal(again, bits);
    }),
  );
});
