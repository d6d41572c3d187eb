import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32c } from "./crc32c.ts";

// The check value of the catalogue of CRCs, and RFC 3720, B.4.
const CASES = [
  ["nothing", new Uint8Array(0), 0],
  ["123456789", new TextEncoder().encode("123456789"), 0xe306_9283],
  ["32 zeros", new Uint8Array(32), 0x8a91_36aa],
  ["32 ones", new Uint8Array(32).fill(0xff), 0x62a8_ab43],
  ["0 to 31", Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd_794e],
] as const;

for (const [name, bytes, expected] of CASES) {
  test(`crc32c of ${name}`, () => assert.equal(crc32c(bytes), expected));
}
