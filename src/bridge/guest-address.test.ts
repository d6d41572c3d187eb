import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { RAM_HIGH_BASE, RAM_LOW_BYTES, ramOffset, type RamLayout } from "./guest-address.ts";

const GIB = 2 ** 30;
const LAYOUT: RamLayout = { ramBytes: 4 * GIB, ramLowBytes: RAM_LOW_BYTES };
const SMALL: RamLayout = { ramBytes: 4096, ramLowBytes: RAM_LOW_BYTES };
const HIGH = 0x1_0000_0000n;
const U64_MAX = 2n ** 64n - 1n;

// Each edge from both sides.
const CASES: readonly (readonly [RamLayout, bigint, number, number | null])[] = [
  [LAYOUT, 0n, 4, 0],
  [LAYOUT, 0x1000n, 8, 0x1000],
  [LAYOUT, 2n ** 31n - 4n, 4, 2 ** 31 - 4],
  [LAYOUT, 2n ** 31n - 4n, 8, null],
  [LAYOUT, 2n ** 31n, 4, null],
  [LAYOUT, HIGH - 4n, 4, null],
  [LAYOUT, HIGH - 4n, 8, null],
  [LAYOUT, HIGH, 4, 2 * GIB],
  [LAYOUT, HIGH + 4n, 4, 2 * GIB + 4],
  [LAYOUT, HIGH + BigInt(2 * GIB) - 4n, 4, 4 * GIB - 4],
  [LAYOUT, HIGH + BigInt(2 * GIB) - 4n, 8, null],
  [LAYOUT, HIGH + BigInt(2 * GIB), 4, null],
  [LAYOUT, U64_MAX - 3n, 4, null],
  [LAYOUT, U64_MAX, 8, null],
  [{ ...LAYOUT, ramLowBytes: 3 * GIB }, BigInt(3 * GIB) - 4n, 4, 3 * GIB - 4],
  [{ ...LAYOUT, ramLowBytes: 3 * GIB }, HIGH, 4, 3 * GIB],
  [SMALL, 4092n, 4, 4092],
  [SMALL, 4092n, 8, null],
  [SMALL, HIGH, 4, null],
  [{ ...SMALL, ramBytes: 0 }, 0n, 4, null],
];

for (const [layout, address, bytes, expected] of CASES) {
  const where = `0x${address.toString(16)} in ${String(layout.ramBytes)} bytes`;
  test(`ramOffset() of ${String(bytes)} bytes at ${where} is ${String(expected)}`, () => {
    const found = ramOffset(address, bytes, layout);
    if (expected === null) assert.ok(!found.ok);
    else assert.deepEqual(found, { ok: true, value: expected });
  });
}

test("the message says where the RAM is", () => {
  const found = ramOffset(2n ** 31n, 4, LAYOUT);
  assert.ok(!found.ok);
  assert.equal(
    found.error,
    "4 bytes at guest address 0x80000000 are not all in the guest's RAM: it lies at " +
      "0x0..0x7fffffff and 0x100000000..0x17fffffff",
  );
});

test("property: what is found lies in the file, byte for byte where the guest sees it", () => {
  fc.assert(
    fc.property(
      fc.bigInt(0n, 2n ** 34n),
      fc.integer({ min: 4, max: 2 ** 31 }),
      fc.integer({ min: 0, max: 8 * GIB }),
      fc.integer({ min: 1, max: 3 * GIB + GIB / 2 }),
      (address, bytes, ramBytes, ramLowBytes) => {
        const layout = { ramBytes, ramLowBytes };
        const found = ramOffset(address, bytes, layout);
        const [first, last] = [address, address + BigInt(bytes) - 1n].map((at) =>
          ramOffset(at, 1, layout),
        );
        assert.ok(first !== undefined && last !== undefined);
        const isOneSide = address >= RAM_HIGH_BASE === address + BigInt(bytes) > RAM_HIGH_BASE;
        assert.equal(found.ok, first.ok && last.ok && isOneSide);
        if (!found.ok || !first.ok || !last.ok) return;
        assert.equal(found.value, first.value);
        assert.equal(last.value, first.value + bytes - 1);
        assert.ok(found.value + bytes <= ramBytes);
      },
    ),
  );
});
