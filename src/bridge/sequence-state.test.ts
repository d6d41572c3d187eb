import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FileError } from "../base/mod.ts";
import {
  decodeState,
  encodeState,
  folderOf,
  isSameFolder,
  readState,
  STATE_BYTES,
  stateName,
  writeState,
  type KeptState,
} from "./sequence-state.ts";
import { testFolder } from "./testing.ts";

const FOLDER = { dev: 1n, ino: 2n ** 63n, birthNs: 1_700_000_000_000_000_001n };
const STATE: KeptState = { folder: FOLDER, done: Uint8Array.from({ length: 128 }, (_, i) => i) };

test("a state file has one size, and says what was kept", () => {
  for (const state of [STATE, { ...STATE, done: STATE.done.subarray(0, 40) }]) {
    const bytes = encodeState(state);
    assert.equal(bytes.length, STATE_BYTES);
    assert.equal(STATE_BYTES, 172);
    assert.deepEqual(decodeState(bytes), state);
  }
});

test("every bit flip and every truncation is seen", () => {
  const whole = encodeState(STATE);
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const bytes = Uint8Array.from(whole);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(decodeState(bytes), null, `bit ${String(bit)}`);
  }
  for (let length = 0; length < whole.length; length++) {
    assert.equal(decodeState(whole.subarray(0, length)), null);
  }
  assert.equal(decodeState(Buffer.concat([whole, Buffer.alloc(1)])), null);
});

test("what is written is read back, and written over whole", (context) => {
  const path = join(testFolder(context), "a.state");
  assert.equal(readState(path), null);
  writeState(path, STATE);
  writeState(path, { ...STATE, done: STATE.done.subarray(0, 40) });
  assert.equal(readState(path)?.done.length, 40);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  writeFileSync(path, readFileSync(path).subarray(1));
  assert.equal(readState(path), null);
  assert.throws(() => writeState(join(path, "b"), STATE), FileError);
});

test("a folder is itself, and another one after it was made anew", (context) => {
  const folder = join(testFolder(context), "mailbox");
  const done = join(folder, "done");
  assert.equal(folderOf(done), null);
  mkdirSync(folder);
  const first = folderOf(done);
  assert.ok(first !== null);
  writeFileSync(done, "a done record changes the folder's times");
  const later = folderOf(done);
  assert.ok(later !== null && isSameFolder(first, later));
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  const second = folderOf(done);
  assert.ok(second !== null);
  // An inode's number may be given again at once; then the time of birth tells, where it is kept.
  if (second.ino !== first.ino || later.birthNs !== 0n) assert.ok(!isSameFolder(later, second));
});

test("the folder of a link to what is yet to be made is that of its target", (context) => {
  const folder = testFolder(context);
  const [real, link] = [join(folder, "real"), join(folder, "done")];
  symlinkSync(join(real, "done"), link);
  assert.equal(folderOf(link), null);
  mkdirSync(real);
  const first = folderOf(link);
  assert.ok(first !== null);
  assert.equal(first.ino, statSync(real, { bigint: true }).ino);
  writeFileSync(link, "through the link");
  const later = folderOf(link);
  assert.ok(later !== null && isSameFolder(first, later));
});

const SAME: readonly (readonly [boolean, Partial<typeof FOLDER>])[] = [
  [true, {}],
  [true, { birthNs: 0n }],
  [false, { birthNs: 5n }],
  [false, { ino: 5n }],
  [false, { dev: 5n }],
  [false, { dev: 5n, birthNs: 0n }],
];

for (const [isSame, more] of SAME) {
  const name = Object.keys(more).join(" and ") || "nothing";
  test(`a folder that differs in ${name} is ${isSame ? "the same" : "another"}`, () => {
    assert.equal(isSameFolder(FOLDER, { ...FOLDER, ...more }), isSame);
    assert.equal(isSameFolder({ ...FOLDER, ...more }, FOLDER), isSame);
  });
}

test("a mailbox's name in the state folder follows from both paths", () => {
  const names = [
    ["/a/job", "/a/done"],
    ["/a/job", "/b/done"],
    ["/a/jo", "b/a/done"],
  ].map(([job = "", done = ""]) => stateName({ job, done }));
  assert.equal(new Set(names).size, 3);
  for (const name of names) assert.match(name, /^[0-9a-f]{16}$/);
});
