import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileError, systemClock } from "../base/mod.ts";
import { openOutput } from "./host-output.ts";
import type { PayloadOutput } from "./job.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-output-"));
test.after(() => rmSync(folder, { recursive: true }));

/** A folder of the test's own, so that everything in it is the test's. */
function ownFolder(): string {
  return mkdtempSync(join(folder, "t-"));
}

const open = (path: string, placement: PayloadOutput["placement"]): ReturnType<typeof openOutput> =>
  openOutput({ path, placement }, systemClock);

const isFileError =
  (code: string, message = /./) =>
  (error: unknown): boolean =>
    error instanceof FileError && error.code === code && message.test(error.message);

const bytes = Buffer.from("the output");

test("rename: the old content is there until the new is, with its mode", async () => {
  const path = join(ownFolder(), "out");
  writeFileSync(path, "old");
  chmodSync(path, 0o640);
  const before = statSync(path).ino;
  const output = open(path, "rename");
  assert.equal(readFileSync(path, "utf8"), "old");
  await output.commit(bytes);
  output.discard();
  assert.equal(readFileSync(path, "utf8"), "the output");
  assert.equal(statSync(path).mode & 0o777, 0o640);
  assert.notEqual(statSync(path).ino, before);
});

test("rename: a discarded output leaves nothing, and what was there", () => {
  const at = ownFolder();
  const path = join(at, "out");
  open(path, "rename").discard();
  assert.deepEqual(readdirSync(at), []);
  writeFileSync(path, "old");
  open(path, "rename").discard();
  assert.deepEqual(readdirSync(at), ["out"]);
  assert.equal(readFileSync(path, "utf8"), "old");
});

test("rename: a symbolic link stays one, and its target is replaced", async () => {
  const at = ownFolder();
  mkdirSync(join(at, "real"));
  writeFileSync(join(at, "real", "out"), "old");
  symlinkSync("real/out", join(at, "link"));
  await open(join(at, "link"), "rename").commit(bytes);
  assert.ok(lstatSync(join(at, "link")).isSymbolicLink());
  assert.equal(readFileSync(join(at, "real", "out"), "utf8"), "the output");
});

test("rename: what is no file, or in no folder, is refused before anything is made", () => {
  const at = ownFolder();
  mkdirSync(join(at, "folder"));
  execFileSync("mkfifo", [join(at, "fifo")]);
  writeFileSync(join(at, "plain"), "");
  assert.throws(() => open(join(at, "folder"), "rename"), isFileError("EISDIR"));
  assert.throws(() => open(join(at, "fifo"), "rename"), isFileError("EINVAL", /write it in place/));
  assert.throws(() => open(join(at, "no", "out"), "rename"), isFileError("ENOENT"));
  assert.throws(() => open(join(at, "plain", "out"), "rename"), isFileError("ENOTDIR"));
  assert.deepEqual(readdirSync(at).sort(), ["fifo", "folder", "plain"]);
  assert.ok(lstatSync(join(at, "fifo")).isFIFO());
});

test("rename: two outputs for one path do not meet; the last one stays", async () => {
  const at = ownFolder();
  const path = join(at, "out");
  const [first, second] = [open(path, "rename"), open(path, "rename")];
  await first.commit(Buffer.from("first"));
  await second.commit(Buffer.from("second"));
  assert.equal(readFileSync(path, "utf8"), "second");
  assert.deepEqual(readdirSync(at), ["out"]);
});

/** A process that opens an output for the path and is killed before it is whole. */
function killedWriter(path: string): void {
  const module = new URL("./host-output.js", import.meta.url).href;
  const script = `
    const { openOutput } = await import(${JSON.stringify(module)});
    openOutput({ path: ${JSON.stringify(path)}, placement: "rename" }, {});
    process.kill(process.pid, "SIGKILL");
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal(run.signal, "SIGKILL", run.stderr.toString());
}

test("rename: what a killed process left is removed by the next output for that path", async () => {
  const at = ownFolder();
  killedWriter(join(at, "out"));
  killedWriter(join(at, "other"));
  assert.equal(readdirSync(at).filter((name) => name.startsWith(".holdfast-out-")).length, 2);
  await open(join(at, "out"), "rename").commit(bytes);
  const left = readdirSync(at);
  assert.equal(left.length, 2, "the other path's leftover is not ours to remove");
  assert.ok(left.includes("out"));
});

test("in place: the file stays the same one, and is cut to the output's size", async () => {
  const path = join(ownFolder(), "out");
  writeFileSync(path, "what was here before was longer");
  const before = statSync(path).ino;
  const output = open(path, "in_place");
  assert.equal(readFileSync(path, "utf8"), "what was here before was longer");
  await output.commit(bytes);
  assert.equal(readFileSync(path, "utf8"), "the output");
  assert.equal(statSync(path).ino, before);
});

test("in place: a missing file is not made; a folder and a lonely FIFO are refused", () => {
  const at = ownFolder();
  execFileSync("mkfifo", [join(at, "fifo")]);
  assert.throws(() => open(join(at, "none"), "in_place"), isFileError("ENOENT"));
  assert.throws(() => open(at, "in_place"), isFileError("EISDIR"));
  assert.throws(() => open(join(at, "fifo"), "in_place"), isFileError("ENXIO"));
  assert.ok(!existsSync(join(at, "none")));
});

test("in place: what takes only a part of a record gets no second write", async () => {
  const path = join(ownFolder(), "fifo");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    await open(path, "in_place").commit(bytes);
    const view = Buffer.alloc(64);
    assert.equal(readSync(reader, view), bytes.length);
    const output = open(path, "in_place");
    await assert.rejects(
      output.commit(new Uint8Array(2 ** 20)),
      isFileError("SHORT", /took 65536 of 1048576 bytes/),
    );
    output.discard();
  } finally {
    closeSync(reader);
  }
});

test("a device that is full says so", { skip: !existsSync("/dev/full") }, async () => {
  const output = open("/dev/full", "in_place");
  await assert.rejects(output.commit(bytes), isFileError("ENOSPC", /^write \/dev\/full/));
  output.discard();
  await open("/dev/null", "in_place").commit(bytes);
});
