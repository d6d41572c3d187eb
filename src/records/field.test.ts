import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fixedU16, magic, reserved, text, u32, u64 } from "./field.ts";
import { declareRecord } from "./record.ts";

suite("text", () => {
  const record = declareRecord({
    title: "name tag",
    cName: "name_tag",
    purpose: "",
    bytes: 8,
    fields: { name: text(8, "") },
  });
  const cases = [
    ["nothing", "", ""],
    ["up to 7 bytes", "1234567", "1234567"],
    ["an 8th byte is cut, so that a NUL remains", "12345678", "1234567"],
    ["no half of a character: 6 + 2 bytes", "123456é", "123456"],
    ["a character that ends at the 7th byte", "12345é8", "12345é"],
    ["no half of a surrogate pair", "12345😀", "12345"],
    ["a surrogate pair that fits", "123😀", "123😀"],
    ["a NUL ends it", "12\u00003", "12"],
    ["a byte order mark is a character", "\ufeff1", "\ufeff1"],
    ["half a surrogate pair", "\ud800", "\ufffd"],
  ] as const;
  for (const [name, given, expected] of cases) {
    test(name, () => {
      const bytes = record.encode({ name: given });
      assert.deepEqual(record.decode(bytes), { ok: true, value: { name: expected } });
      assert.equal(bytes[7], 0);
      assert.deepEqual(record.encode({ name: expected }), bytes);
    });
  }
  test("reading takes bytes that writing would not have made", () => {
    const full = record.decode(new TextEncoder().encode("12345678"));
    assert.deepEqual(full, { ok: true, value: { name: "12345678" } });
    const rubbish = record.decode(Uint8Array.of(0x31, 0, 0x32, 0xff, 0xff, 0xff, 0xff, 0xff));
    assert.deepEqual(rubbish, { ok: true, value: { name: "1" } });
    const invalid = record.decode(Uint8Array.of(0x31, 0xc3, 0x32, 0, 0, 0, 0, 0));
    assert.deepEqual(invalid, { ok: true, value: { name: "1\ufffd2" } });
  });
});

suite("a table that cannot be a record", () => {
  const base = { title: "it", cName: "it", purpose: "" };
  test("control: fields that fit", () => {
    const record = declareRecord({
      ...base,
      bytes: 16,
      fields: { a: u32(""), b: u32(""), c: u64("") },
    });
    assert.deepEqual(record.offsets, { a: 0, b: 4, c: 8 });
  });
  test("a size that the fields do not add up to", () => {
    assert.throws(() => declareRecord({ ...base, bytes: 8, fields: { a: u32("") } }), /8 bytes.*4/);
  });
  test("a field before which a compiler would pad", () => {
    const fields = { a: u32(""), b: u64("") };
    assert.throws(() => declareRecord({ ...base, bytes: 12, fields }), /it\.b lies where/);
  });
  test("an end after which a compiler would pad", () => {
    const fields = { a: u64(""), b: u32("") };
    assert.throws(() => declareRecord({ ...base, bytes: 12, fields }), /ends where/);
  });
});

test("fixed fields have no part in the value", () => {
  const record = declareRecord({
    title: "it",
    cName: "it",
    purpose: "",
    bytes: 12,
    fields: {
      magic: magic("AB", 4),
      version: fixedU16("version", 0x0102, ""),
      pad: reserved(2),
      op: u32(""),
    },
  });
  const bytes = record.encode({ op: 7 });
  assert.deepEqual([...bytes], [0x41, 0x42, 0, 0, 2, 1, 0, 0, 7, 0, 0, 0]);
  assert.deepEqual(record.decode(bytes), { ok: true, value: { op: 7 } });
});
