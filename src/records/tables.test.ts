import assert from "node:assert/strict";
import { test } from "node:test";
import { ARGUMENT_TYPE, ARGUMENT_TYPE_BYTES, argumentType, operationName } from "./tables.ts";
import { STATUS, statusName } from "./tables.ts";

test("every status has its name, from 0 to 15 without a gap", () => {
  assert.deepEqual(
    Object.values(STATUS),
    Array.from({ length: 16 }, (_, index) => index),
  );
  for (const [name, status] of Object.entries(STATUS)) assert.equal(statusName(status), name);
});

test("a status without a name is told by its number", () => {
  assert.equal(statusName(16), "status_16");
  assert.equal(statusName(0xffff_ffff), "status_4294967295");
});

test("an operation without a name has none", () => {
  assert.equal(operationName(256), "launch");
  for (const operation of [0, 5, 255, 257, -1]) assert.equal(operationName(operation), null);
});

test("the size of a type is in its name", () => {
  for (const [name, type] of Object.entries(ARGUMENT_TYPE)) {
    assert.equal(argumentType(type), name);
    const bits = 8 * (Object.entries(ARGUMENT_TYPE_BYTES).find(([key]) => key === name)?.[1] ?? 0);
    assert.equal(bits, Number(name.slice(1)));
  }
});
