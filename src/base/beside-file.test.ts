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

test("a link leads to its target that is yet to be made", (context) => {
  const folder = testFolder(context);
  const at = (...names: string[]): string => join(folder, ...names);
  for (const name of ["real", "elsewhere", "elsewhere/deep"]) mkdirSync(at(name));
  const links: readonly (readonly [name: string, text: string, target: string])[] = [
    ["relative", "real/new", at("real", "new")],
    ["absolute", at("elsewhere", "new"), at("elsewhere", "new")],
    ["chain", "relative", at("real", "new")],
    ["real/inside", "../new", at("new")],
    ["here", "new", at("new")],
    ["deep", "elsewhere/deep", at("elsewhere", "deep")],
    ["upward", "deep/../new", at("elsewhere", "new")],
  ];
  for (const [name, text] of links) symlinkSync(text, at(name));
  for (const [name, , target] of links) assert.equal(resolveTarget(at(name)), target, name);
  // The control: once the target is there, the system itself finds it at the same place.
  for (const [name, , target] of links) {
    if (!existsSync(target)) writeFileSync(target, "");
    assert.equal(realpathSync.native(at(name)), target, name);
  }
});

test("a link into a missing folder, or in a circle, is told", (context) => {
  const folder = testFolder(context);
  symlinkSync("none/new", join(folder, "lost"));
  symlinkSync("circle", join(folder, "circle"));
  const path = join(folder, "lost");
  assert.throws(() => resolveTarget(path), { name: "FileError", code: "ENOENT", path });
  assert.throws(() => resolveTarget(join(folder, "circle")), { name: "FileError", code: "ELOOP" });
});

test("a chain of links is followed as far as the system follows it", (context) => {
  const folder = testFolder(context);
  for (let link = 1; link <= 50; link += 1) {
    symlinkSync(
      link === 1 ? "end" : `link${String(link - 1)}`,
      join(folder, `link${String(link)}`),
    );
  }
  assert.equal(resolveTarget(join(folder, "link40")), join(folder, "end"));
  assert.throws(() => resolveTarget(join(folder, "link41")), { name: "FileError", code: "ELOOP" });
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
