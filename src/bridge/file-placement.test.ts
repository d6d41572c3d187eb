import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { besideName, FileError } from "../base/mod.ts";
import { isSameContent } from "./file-identity.ts";
import { placementOf, placeRecord } from "./file-placement.ts";
import { testFolder } from "./testing.ts";

const RECORD = Buffer.from("a whole record");

const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    if (error instanceof FileError) return error.code;
    throw error;
  }
  return "none";
};

test("a plain file is replaced by one of the same mode, and nothing is left over", (context) => {
  const folder = testFolder(context);
  const path = join(folder, "done");
  assert.equal(placementOf(path), "rename");
  placeRecord(path, Buffer.from("the first"));
  chmodSync(path, 0o640);
  const before = statSync(path);
  const reader = openSync(path, "r");
  context.after(() => closeSync(reader));
  const identity = placeRecord(path, RECORD);
  assert.deepEqual(readFileSync(path), RECORD);
  assert.equal(statSync(path).mode, before.mode);
  assert.notEqual(statSync(path).ino, before.ino);
  assert.ok(isSameContent(identity, statSync(path)));
  // Whoever had opened the old one still reads the old one, whole.
  const old = Buffer.alloc(64);
  assert.equal(old.toString("utf8", 0, readSync(reader, old, 0, 64, 0)), "the first");
  assert.deepEqual(readdirSync(folder), ["done"]);
});

test("a symbolic link stays one", (context) => {
  const folder = testFolder(context);
  mkdirSync(join(folder, "elsewhere"));
  const [path, target] = [join(folder, "done"), join(folder, "elsewhere", "done")];
  writeFileSync(target, "old");
  symlinkSync(target, path);
  placeRecord(path, RECORD);
  assert.equal(realpathSync(path), target);
  assert.deepEqual(readFileSync(target), RECORD);
});

test("what a killed daemon left is no obstacle, nor is a link that lies there", (context) => {
  const folder = testFolder(context);
  const path = join(folder, "done");
  const beside = besideName(path, "done");
  for (const leave of [
    () => writeFileSync(beside, "half a rec"),
    () => symlinkSync(join(folder, "victim"), beside),
  ]) {
    leave();
    placeRecord(path, RECORD);
    assert.deepEqual(readFileSync(path), RECORD);
    assert.deepEqual(readdirSync(folder), ["done"]);
  }
});

test("a name as long as names can be", (context) => {
  const path = join(testFolder(context), "d".repeat(255));
  placeRecord(path, RECORD);
  assert.deepEqual(readFileSync(path), RECORD);
});

test("a FIFO gets one write, in place; without a reader it does not block", (context) => {
  const path = join(testFolder(context), "done");
  execFileSync("mkfifo", [path]);
  assert.equal(placementOf(path), "in_place");
  assert.equal(
    codeOf(() => placeRecord(path, RECORD)),
    "ENXIO",
  );
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  context.after(() => closeSync(reader));
  placeRecord(path, RECORD);
  const into = Buffer.alloc(64);
  assert.equal(readSync(reader, into, 0, 64, null), RECORD.length);
  assert.ok(statSync(path).isFIFO());
});

test("devices and kernels' files are written in place, folders not at all", (context) => {
  assert.equal(placementOf("/dev/null"), "in_place");
  if (existsSync("/proc/self/comm")) assert.equal(placementOf("/proc/self/comm"), "in_place");
  placeRecord("/dev/null", RECORD);
  assert.equal(
    codeOf(() => placeRecord("/dev/full", RECORD)),
    "ENOSPC",
  );
  assert.equal(
    codeOf(() => placeRecord(testFolder(context), RECORD)),
    "EISDIR",
  );
  assert.equal(
    codeOf(() => placeRecord(join(testFolder(context), "no", "done"), RECORD)),
    "ENOENT",
  );
});
