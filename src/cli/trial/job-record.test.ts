import assert from "node:assert/strict";
import { test } from "node:test";
import { CUBB2_JOB } from "../../records/mod.ts";
import { bytesOf, floatsOf, vaddInput, vaddRecord } from "./job-record.ts";

test("vadd's record has the sizes that its n needs, and what is given overrides", () => {
  const record = vaddRecord({ seq: 9n, guestId: 3n }, 1000);
  assert.deepEqual(
    [record.seq, record.op, record.n, record.inBytes, record.outBytes, record.guestId],
    [9n, 2, 1000n, 8000n, 4000n, 3n],
  );
  assert.equal(vaddRecord({ seq: 9n, op: 3 }, 1000).op, 3);
  const decoded = CUBB2_JOB.decode(CUBB2_JOB.encode(record));
  assert.ok(decoded.ok);
  assert.deepEqual(decoded.value, record);
});

test("vadd's input is both operands, one behind the other", () => {
  const values = floatsOf(vaddInput(1001));
  assert.deepEqual([values.length, values[999], values[1000]], [2002, 499.5, 0]);
  assert.deepEqual([values[1001], values[1001 + 996], values[1001 + 997]], [0, 249, 0]);
});

test("bytes become floats wherever they lie", () => {
  const bytes = new Uint8Array(9);
  bytes.set(bytesOf(Float32Array.of(1.5, -2)), 1);
  assert.deepEqual([...floatsOf(bytes.subarray(1))], [1.5, -2]);
  assert.throws(() => floatsOf(bytes), /four bytes/);
});
