import assert from "node:assert/strict";
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FileError } from "../base/mod.ts";
import {
  decodeSlot,
  encodeSlot,
  SLOT_BYTES,
  SLOT_STRIDE_BYTES,
  StateFile,
  type KeptState,
} from "./state-file.ts";
import { testFolder } from "./testing.ts";

const FOLDER = { dev: 1n, ino: 2n ** 63n, birthNs: 1_700_000_000_000_000_001n };

/** A state that says which one it is in the first byte of its done record. */
const state = (mark: number): KeptState => ({
  folder: FOLDER,
  done: Uint8Array.from({ length: 128 }, (_, index) => index + mark),
});

const SLOT = { ...state(0), generation: 2n ** 64n - 1n };

test("a slot has one size, and says what was kept", () => {
  for (const slot of [SLOT, { ...SLOT, done: SLOT.done.subarray(0, 40) }]) {
    const bytes = encodeSlot(slot);
    assert.equal(bytes.length, SLOT_BYTES);
    assert.equal(SLOT_BYTES, 180);
    assert.deepEqual(decodeSlot(bytes), slot);
  }
});

test("every bit flip and every truncation of a slot is seen", () => {
  const whole = encodeSlot(SLOT);
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const bytes = Uint8Array.from(whole);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(decodeSlot(bytes), null, `bit ${String(bit)}`);
  }
  for (let length = 0; length < whole.length; length++) {
    assert.equal(decodeSlot(whole.subarray(0, length)), null);
  }
  assert.equal(decodeSlot(Buffer.concat([whole, Buffer.alloc(1)])), null);
});

/** The mark of what another process would read; else the kind. */
function markIn(path: string): number | string {
  const found = new StateFile(path).read();
  return found.kind === "kept" ? (found.slot.done[0] ?? "empty") : found.kind;
}

test("the last write is what is read, by the next process as well", (context) => {
  const path = join(testFolder(context), "a.state");
  assert.equal(markIn(path), "none");
  for (let mark = 1; mark <= 7; mark++) {
    // Every third write is that of a process that has not read the file.
    const file = new StateFile(path);
    if (mark % 3 !== 0) assert.equal(file.read().kind, mark === 1 ? "none" : "kept");
    file.write(state(mark));
    assert.equal(markIn(path), mark);
    file.write(state(mark));
  }
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(path).size, SLOT_STRIDE_BYTES + SLOT_BYTES);
  assert.throws(() => new StateFile(join(path, "b")).write(state(1)), FileError);
});

test("a write that was torn leaves the one before, wherever it was torn", (context) => {
  const path = join(testFolder(context), "a.state");
  const file = new StateFile(path);
  for (const mark of [1, 2, 3]) {
    file.write(state(mark));
    const before = readFileSync(path);
    file.write(state(mark + 10));
    const after = readFileSync(path);
    for (let torn = 1; torn < after.length; torn += 7) {
      const half = Buffer.concat([after.subarray(0, torn), before.subarray(torn)]);
      writeFileSync(path, half);
      const isWhole = half.equals(after);
      const found = markIn(path);
      assert.ok(found === mark || found === mark + 10, `${String(found)} at ${String(torn)}`);
      if (isWhole) assert.equal(found, mark + 10);
    }
    writeFileSync(path, after);
  }
});

test("damage to both slots is told from no file, and the next write mends it", (context) => {
  const path = join(testFolder(context), "a.state");
  const file = new StateFile(path);
  file.write(state(1));
  file.write(state(2));
  const whole = readFileSync(path);
  for (const damage of [
    () => truncateSync(path, 100),
    () => truncateSync(path, 0),
    () =>
      writeFileSync(
        path,
        whole.map((byte) => byte ^ 1),
      ),
    () => writeFileSync(path, "something else"),
  ]) {
    writeFileSync(path, whole);
    assert.equal(markIn(path), 2);
    damage();
    assert.equal(markIn(path), "damaged");
    new StateFile(path).write(state(3));
    assert.equal(markIn(path), 3);
  }
});
