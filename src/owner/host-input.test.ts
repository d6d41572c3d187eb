import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileError, systemClock, type Clock } from "../base/mod.ts";
import { readInput } from "./host-input.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-input-"));
test.after(() => rmSync(folder, { recursive: true }));

/** Time that only passes while somebody sleeps. */
function sleepingClock(): Clock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    sleep: (ms) => {
      nowMs += ms;
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const file = (name: string, content: Uint8Array | string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const fifo = (name: string): string => {
  const path = join(folder, name);
  execFileSync("mkfifo", [path]);
  return path;
};

const isFileError =
  (code: string, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof FileError && error.code === code && message.test(error.message);

test("the views are filled in order, and what the file holds beyond them is left", async () => {
  const path = file("long", "0123456789");
  const [first, second] = [new Uint8Array(4), new Uint8Array(3)];
  await readInput(path, [first, second], systemClock);
  assert.equal(Buffer.concat([first, second]).toString(), "0123456");
});

test("an input of many MiB comes in whole", async () => {
  const content = Uint8Array.from({ length: 3_000_001 }, (_, index) => index * 31);
  const view = new Uint8Array(content.length);
  await readInput(file("large", content), [view], systemClock);
  assert.ok(Buffer.from(content).equals(view));
});

test("a short file, a missing one and a folder are told apart", async () => {
  const read = (path: string): Promise<void> => readInput(path, [new Uint8Array(8)], systemClock);
  await assert.rejects(
    read(file("short", "abc")),
    isFileError("SHORT", /gave 3 bytes; 8 are needed/),
  );
  await assert.rejects(read(file("empty", "")), isFileError("SHORT", /gave 0 bytes; 8/));
  await assert.rejects(read(join(folder, "none")), isFileError("ENOENT", /^open .*none/));
  await assert.rejects(read(folder), isFileError("EISDIR", /^read /));
});

test("a FIFO that nobody writes to is short, and blocks nobody", async () => {
  await assert.rejects(
    readInput(fifo("lonely"), [new Uint8Array(8)], systemClock),
    isFileError("SHORT", /gave 0 bytes/),
  );
});

test("a producer that gives its bytes bit by bit is waited for, but not for ever", async () => {
  const path = fifo("slow");
  const writer = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    writeSync(writer, "1234");
    const view = new Uint8Array(8);
    const reading = readInput(path, [view], systemClock);
    await systemClock.sleep(5);
    writeSync(writer, "5678");
    await reading;
    assert.equal(Buffer.from(view).toString(), "12345678");
    writeSync(writer, "12");
    await assert.rejects(
      readInput(path, [view], sleepingClock()),
      isFileError("EAGAIN", /nothing to read for 1000 ms .* after 2 bytes/),
    );
  } finally {
    closeSync(writer);
  }
});
