import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { ByteBuffer } from "./byte-buffer.ts";

const hex = (buffer: ByteBuffer): string => Buffer.from(buffer.toBytes()).toString("hex");

/** Reads a signed LEB128 number of any length. */
function readSigned(bytes: Uint8Array): bigint {
  let value = 0n;
  bytes.forEach((byte, index) => (value |= BigInt(byte & 0x7f) << BigInt(7 * index)));
  return BigInt.asIntN(7 * bytes.length, value);
}

suite("ByteBuffer", () => {
  const unsigned: [number, string][] = [
    [0, "00"],
    [127, "7f"],
    [128, "8001"],
    [624485, "e58e26"],
    [0xffffffff, "ffffffff0f"],
  ];
  for (const [value, bytes] of unsigned) {
    test(`writes ${value} as unsigned LEB128`, () => {
      assert.equal(hex(new ByteBuffer().unsigned(value)), bytes);
    });
  }

  const signed: [number, string][] = [
    [0, "00"],
    [63, "3f"],
    [64, "c000"],
    [-1, "7f"],
    [-64, "40"],
    [-65, "bf7f"],
    [-123456, "c0bb78"],
    [-0x80000000, "8080808078"],
    [0x7fffffff, "ffffffff07"],
    [0xffffffff, "7f"],
  ];
  for (const [value, bytes] of signed) {
    test(`writes ${value} as signed LEB128, also of 64 bits`, () => {
      assert.equal(hex(new ByteBuffer().signed(value)), bytes);
      assert.equal(hex(new ByteBuffer().signed64(BigInt(value | 0))), bytes);
    });
  }

  test("writes any 64-bit number so that it reads back, in at most 10 bytes", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const bytes = new ByteBuffer().signed64(value).toBytes();
        assert.equal(readSigned(bytes), value);
        assert.ok(bytes.length <= 10);
      }),
    );
  });

  test("writes fixed numbers little-endian, and names with their length", () => {
    const buffer = new ByteBuffer().fixed32(0x01020304).fixed64(0x0102030405060708n).name("aé");
    assert.equal(hex(buffer), "04030201" + "0807060504030201" + "0361c3a9");
  });

  test("grows past its first storage and keeps what it holds", () => {
    const buffer = new ByteBuffer();
    for (let index = 0; index < 1000; index += 1) buffer.byte(index & 0xff);
    buffer.append(new Uint8Array(5000).fill(7));
    const bytes = buffer.toBytes();
    assert.equal(bytes.length, 6000);
    assert.equal(bytes[999], 999 & 0xff);
    assert.equal(bytes[5999], 7);
  });
});
