import assert from "node:assert/strict";
import { mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { folderOf, isSameFolder, lockName, stateName } from "./sequence-state.ts";
import { testFolder } from "./testing.ts";

const FOLDER = { dev: 1n, ino: 2n ** 63n, birthNs: 1_700_000_000_000_000_001n };
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

test("a lock's name follows from the file's path", () => {
  const names = ["/a/job", "/a/done", "/b/job"].map(lockName);
  assert.equal(new Set(names).size, 3);
  assert.equal(lockName("/a/job"), names[0]);
  for (const name of names) assert.match(name, /^[0-9a-f]{16}\.lock$/);
});
