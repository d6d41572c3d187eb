import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { mapFile } from "../base/mod.ts";
import { LOOKS_PER_READ, RecordReader, type Look, type Sighting } from "./record-reader.ts";
import { MEMORY_FOLDER, place, testFolder } from "./testing.ts";

const RECORD = Buffer.from("0123456789abcdef");
const OTHER = Buffer.from("fedcba9876543210");

function open(context: TestContext) {
  const path = join(testFolder(context), "job");
  const clock = { ms: 0 };
  return { path, clock, reader: new RecordReader(path, RECORD.length, () => clock.ms) };
}

function sightingOf(look: Look): Sighting {
  assert.ok(look.kind === "new");
  return look.sighting;
}

const settle = (reader: RecordReader): void => reader.settle(sightingOf(reader.look()));

/** Files made in one tick of the kernel's clock have one time; jobs are further apart. */
const later = (path: string): void => utimesSync(path, new Date(0), new Date(1e12));

test("absent and empty files are idle, and so is a path under a file", (context) => {
  const { reader, path } = open(context);
  assert.equal(reader.look().kind, "idle");
  writeFileSync(path, "");
  assert.equal(reader.look().kind, "idle");
  assert.equal(new RecordReader(join(path, "job"), 16, () => 0).look().kind, "idle");
});

test("a record is new until it is settled, and then the same", (context) => {
  const { reader, path } = open(context);
  writeFileSync(path, RECORD);
  assert.deepEqual(sightingOf(reader.look()).bytes, RECORD);
  const sighting = sightingOf(reader.look());
  reader.settle(sighting);
  assert.equal(reader.look().kind, "same");
  reader.forget();
  assert.equal(reader.look().kind, "new");
});

test("what follows the record is ignored", (context) => {
  const { reader, path } = open(context);
  writeFileSync(path, Buffer.concat([RECORD, Buffer.alloc(9000, 1)]));
  assert.deepEqual(sightingOf(reader.look()).bytes, RECORD);
});

test("fewer bytes than a record are new too, and so is what they grow to", (context) => {
  const { reader, path } = open(context);
  writeFileSync(path, RECORD.subarray(0, 7));
  assert.equal(sightingOf(reader.look()).bytes.length, 7);
  settle(reader);
  appendFileSync(path, RECORD.subarray(7));
  assert.deepEqual(sightingOf(reader.look()).bytes, RECORD);
});

function writeLater(path: string): void {
  writeFileSync(path, RECORD);
  later(path);
}

function makeAnew(path: string): void {
  rmSync(path);
  writeFileSync(path, RECORD);
}

const REPOSTS: readonly (readonly [name: string, repost: (path: string) => void])[] = [
  ["the same bytes by rename", (path) => place(path, RECORD)],
  ["the same bytes written over later", (path) => writeLater(path)],
  ["other bytes", (path) => writeFileSync(path, OTHER)],
  ["the file removed and made again", (path) => makeAnew(path)],
];

for (const [name, repost] of REPOSTS) {
  test(`posted again: ${name}`, (context) => {
    const { reader, path } = open(context);
    writeFileSync(path, RECORD);
    settle(reader);
    assert.equal(reader.look().kind, "same");
    repost(path);
    assert.equal(reader.look().kind, "new");
  });
}

test("posted again: the same file after it was seen idle", (context) => {
  const { reader, path } = open(context);
  writeFileSync(path, RECORD);
  settle(reader);
  const aside = `${path}.aside`;
  execFileSync("mv", [path, aside]);
  assert.equal(reader.look().kind, "idle");
  execFileSync("mv", [aside, path]);
  assert.equal(reader.look().kind, "new");
});

for (const [name, repost] of REPOSTS) {
  test(`posted again after a long rest: ${name}`, (context) => {
    const { reader, path, clock } = open(context);
    writeFileSync(path, RECORD);
    settle(reader);
    for (let looks = 0; looks < 40; looks++) {
      clock.ms += 100;
      assert.equal(reader.look().kind, "same");
    }
    repost(path);
    assert.equal(reader.look().kind, "new");
  });
}

test("what is written through a mapping is seen, though it changes no times", (context) => {
  const path = join(testFolder(context, MEMORY_FOLDER), "job");
  let nowMs = 0;
  const reader = new RecordReader(path, RECORD.length, () => nowMs);
  writeFileSync(path, RECORD);
  const file = openSync(path, "r+");
  context.after(() => closeSync(file));
  const { bytes } = mapFile({ file, path }, 0, RECORD.length);
  settle(reader);
  nowMs += 10_000;
  assert.equal(reader.look().kind, "same");
  bytes.set(OTHER);
  let looks = 0;
  while (reader.look().kind === "same") looks += 1;
  assert.ok(looks < LOOKS_PER_READ, String(looks));
});

test("a symbolic link is followed", (context) => {
  const { reader, path } = open(context);
  writeFileSync(`${path}.target`, RECORD);
  symlinkSync(`${path}.target`, path);
  assert.deepEqual(sightingOf(reader.look()).bytes, RECORD);
});

test("a folder is unreadable, and no record of another kind", (context) => {
  const { reader, path } = open(context);
  mkdirSync(path);
  const look = reader.look();
  assert.ok(look.kind === "unreadable");
  assert.equal(look.error.code, "EISDIR");
  rmSync(path, { recursive: true });
  writeFileSync(path, RECORD);
  assert.equal(reader.look().kind, "new");
});

test("a FIFO without a writer is idle, and gives each record once", (context) => {
  const { reader, path } = open(context);
  execFileSync("mkfifo", [path]);
  assert.equal(reader.look().kind, "idle");
  const writer = openSync(path, "r+");
  context.after(() => closeSync(writer));
  assert.equal(reader.look().kind, "idle");
  // In two pieces: what a read gives short is completed by the next one.
  writeSync(writer, RECORD.subarray(0, 5));
  writeSync(writer, RECORD.subarray(5));
  const sighting = sightingOf(reader.look());
  assert.deepEqual(sighting.bytes, RECORD);
  assert.equal(sighting.isPlain, false);
  reader.settle(sighting);
  assert.equal(reader.look().kind, "idle");
});

test("a kernel's file is the same while its bytes are, whatever its times say", (context) => {
  // On proc, each look makes the file anew.
  const path = "/proc/sys/kernel/ostype";
  if (!existsSync(path)) {
    context.skip("no /proc/sys here");
    return;
  }
  const reader = new RecordReader(path, 4, () => 0);
  const sighting = sightingOf(reader.look());
  assert.equal(sighting.isPlain, false);
  reader.settle(sighting);
  assert.equal(reader.look().kind, "same");
});
