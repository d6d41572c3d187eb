import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { test, type TestContext } from "node:test";

import { besideName, removeQuietly, resolveTarget, takeAfter } from "./beside-file.ts";
import { FileError } from "./file-error.ts";

function testFolder(context: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-beside-")));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a target is where the path leads in the end, there or not", (context) => {
  const folder = testFolder(context);
  const file = join(folder, "file");
  writeFileSync(file, "");
  symlinkSync("file", join(folder, "link"));
  mkdirSync(join(folder, "real"));
  symlinkSync("real", join(folder, "linked"));
  assert.equal(resolveTarget(file), file);
  assert.equal(resolveTarget(join(folder, "link")), file);
  assert.equal(resolveTarget(join(folder, "linked", "new")), join(folder, "real", "new"));
  assert.throws(() => resolveTarget(join(folder, "none", "new")), { name: "FileError" });
  assert.throws(() => resolveTarget(join(file, "below")), FileError);
});

test("the name beside lies in the same folder, and is short where the target's is long", () => {
  const target = `/some/folder/${"n".repeat(255)}`;
  const beside = besideName(target, "out");
  assert.equal(dirname(beside), "/some/folder");
  assert.match(basename(beside), /^\.holdfast-out-[0-9a-f]{16}$/);
  assert.equal(besideName(target, "out"), beside);
  assert.notEqual(besideName(`${target}m`, "out"), beside);
  assert.notEqual(besideName(target, "done"), beside);
});

test("the new file has the mode of the old one", (context) => {
  const folder = testFolder(context);
  const [old, beside] = [join(folder, "old"), join(folder, "beside")];
  writeFileSync(old, "");
  for (const mode of [0o600, 0o640, 0o666, 0o444]) {
    chmodSync(old, mode);
    const file = openSync(beside, "w", 0o600);
    takeAfter(file, beside, statSync(old));
    closeSync(file);
    assert.equal(statSync(beside).mode & 0o7777, mode);
    removeQuietly(beside);
  }
});

test("what cannot be removed is left, without a word", (context) => {
  const folder = testFolder(context);
  const file = join(folder, "file");
  writeFileSync(file, "");
  removeQuietly(file);
  assert.ok(!existsSync(file));
  removeQuietly(file);
  removeQuietly(folder);
  assert.ok(existsSync(folder));
});
