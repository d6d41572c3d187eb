import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  comparePciAddresses,
  formatPciAddress,
  isSamePciAddress,
  parsePciAddress,
} from "./pci-address.ts";

const FORMS: readonly (readonly [text: string, sysfs: string | null])[] = [
  ["0000:05:00.0", "0000:05:00.0"],
  ["00000000:05:00.0", "0000:05:00.0"],
  ["00000000:0A:1F.7", "0000:0a:1f.7"],
  ["05:00.0", "0000:05:00.0"],
  ["PCI:0000:05:00", "0000:05:00.0"],
  ["0000:05:00", "0000:05:00.0"],
  ["10000:01:00.0", "10000:01:00.0"],
  [" 0000:05:00.0\n", "0000:05:00.0"],
  ["soft:0", null],
  ["", null],
  ["0000:05:00.8", null],
  ["0000:05:20.0", null],
  ["0000:105:00.0", null],
  ["0000:05", null],
  ["123456789:05:00.0", null],
  ["0000:05:00.0x", null],
];

test("a PCI address is read in each form that tools and drivers write, and in no other", () => {
  for (const [text, sysfs] of FORMS) {
    const address = parsePciAddress(text);
    assert.equal(address === null ? null : formatPciAddress(address), sysfs, text);
  }
});

test("two texts are one function whatever their form, and no text is the same as nonsense", () => {
  assert.ok(isSamePciAddress("0000:05:00.0", "00000000:05:00.0"));
  assert.ok(isSamePciAddress("0000:AF:00.0", "0000:af:00.0"));
  assert.ok(!isSamePciAddress("0000:05:00.0", "0000:06:00.0"));
  assert.ok(!isSamePciAddress("0000:05:00.0", "0001:05:00.0"));
  assert.ok(!isSamePciAddress("soft:0", "soft:0"));
});

const addresses = fc.record({
  domain: fc.integer({ min: 0, max: 0xffff_ffff }),
  bus: fc.integer({ min: 0, max: 0xff }),
  device: fc.integer({ min: 0, max: 0x1f }),
  function: fc.integer({ min: 0, max: 7 }),
});

test("what is formatted reads back as what it was", () => {
  fc.assert(
    fc.property(addresses, (address) => {
      assert.deepEqual(parsePciAddress(formatPciAddress(address)), { ...address });
    }),
  );
});

test("the order is total and that of the bus", () => {
  fc.assert(
    fc.property(addresses, addresses, (a, b) => {
      assert.equal(Math.sign(comparePciAddresses(a, b)), -Math.sign(comparePciAddresses(b, a)));
    }),
  );
  const texts = ["0001:00:00.0", "0000:0a:00.0", "0000:09:1f.7", "0000:09:00.1"];
  const sorted = texts.flatMap((text) => parsePciAddress(text) ?? []).sort(comparePciAddresses);
  assert.deepEqual(sorted.map(formatPciAddress), [...texts].reverse());
});
