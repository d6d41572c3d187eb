import assert from "node:assert/strict";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FileError } from "./file-error.ts";
import { InvariantError } from "./invariant.ts";
import { fillHoles, mapFile, type NamedFile } from "./mapped-file-ffi.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-mapped-"));
test.after(() => rmSync(folder, { recursive: true }));

let files = 0;

function openFile(context: TestContext, flags = "w+"): NamedFile {
  files += 1;
  const path = join(folder, String(files));
  if (flags === "r") writeFileSync(path, Buffer.alloc(4096));
  const file = openSync(path, flags);
  context.after(() => closeSync(file));
  return { file, path };
}

test("a view shows the file, and the file what is written to the view", (context) => {
  const named = openFile(context);
  writeSync(named.file, Buffer.alloc(100_000, 7));
  const view = mapFile(named, 65_536, 1000);
  assert.equal(view.bytes.length, 1000);
  assert.ok(view.bytes.every((byte) => byte === 7));
  view.bytes.fill(9, 1, 3);
  writeSync(named.file, Buffer.of(5), 0, 1, 65_536 + 10);
  assert.deepEqual([...view.bytes.subarray(0, 4), view.bytes[10]], [7, 9, 9, 7, 5]);
  const read = Buffer.alloc(4);
  readSync(named.file, read, 0, 4, 65_536);
  assert.deepEqual([...read], [7, 9, 9, 7]);
  view.unmap();
  assert.throws(() => view.unmap(), InvariantError);
  assert.equal(readFileSync(named.path).length, 100_000);
});

test("offsets beyond 32 bits reach their place in a sparse file", (context) => {
  const named = openFile(context);
  const offset = 5 * 2 ** 30;
  ftruncateSync(named.file, offset + 4096);
  writeSync(named.file, Buffer.from("there"), 0, 5, offset);
  writeSync(named.file, Buffer.from("not here"), 0, 8, 2 ** 30);
  const view = mapFile(named, offset, 4096);
  assert.equal(Buffer.from(view.bytes.subarray(0, 5)).toString(), "there");
  view.unmap();
});

test("pages are gone when the file was cut short or punched, whatever became of it", (context) => {
  const named = openFile(context);
  ftruncateSync(named.file, 2 ** 20);
  const view = mapFile(named, 0, 2 ** 20);
  const isWhole = (): boolean | null => view.isPresent(0, 2 ** 20);
  if (isWhole() === null) {
    context.skip("no /proc/self/pagemap here");
    return;
  }
  assert.equal(isWhole(), false, "nothing was touched yet");
  view.bytes.fill(1, 0, 2 ** 19);
  assert.equal(isWhole(), false, "the second half was not");
  assert.equal(view.isPresent(0, 2 ** 19), true);
  assert.equal(view.isPresent(2 ** 19 - 1, 2), false, "a range over the edge");
  assert.equal(view.isPresent(2 ** 20, 0), true, "no page at all");
  view.bytes.fill(1, 2 ** 19);
  assert.equal(isWhole(), true);
  writeSync(named.file, Buffer.alloc(2 ** 20, 3), 0, 2 ** 20, 0);
  assert.equal(isWhole(), true, "the control: writes take nothing away");
  ftruncateSync(named.file, 2 ** 19);
  ftruncateSync(named.file, 2 ** 20);
  writeSync(named.file, Buffer.alloc(2 ** 20, 4), 0, 2 ** 20, 0);
  assert.equal(isWhole(), false);
  assert.equal(view.isPresent(0, 2 ** 19), true);
  view.unmap();
});

test("what cannot be mapped is a FileError with errno's name", (context) => {
  const isError =
    (code: string) =>
    (error: unknown): boolean =>
      error instanceof FileError && error.code === code && error.call === "mmap";
  const readOnly = openFile(context, "r");
  assert.throws(() => mapFile(readOnly, 0, 4096), isError("EACCES"));
  assert.throws(() => mapFile({ file: 999, path: "/closed" }, 0, 4096), isError("EBADF"));
  const device = openSync("/dev/null", "r+");
  context.after(() => closeSync(device));
  assert.throws(() => mapFile({ file: device, path: "/dev/null" }, 0, 4096), isError("ENODEV"));
});

test("a view that is none is a bug", (context) => {
  const named = openFile(context);
  for (const [offset, bytes] of [
    [4096, 1],
    [-65_536, 1],
    [0, 0],
    [0, 2 ** 30 + 1],
  ] as const) {
    assert.throws(() => mapFile(named, offset, bytes), InvariantError);
  }
});

test("holes are filled, and contents and length stay", (context) => {
  const named = openFile(context);
  writeSync(named.file, Buffer.from("kept"));
  ftruncateSync(named.file, 2 ** 20);
  const before = statSync(named.path);
  fillHoles(named, 0, 2 ** 20);
  const after = statSync(named.path);
  assert.equal(after.size, before.size);
  assert.ok(after.blocks * 512 >= 2 ** 20 && before.blocks * 512 < 2 ** 20);
  assert.equal(readFileSync(named.path).subarray(0, 5).toString(), "kept\0");
  assert.throws(
    () => fillHoles({ file: 999, path: "/closed" }, 0, 1),
    (error) => error instanceof FileError && error.code === "EBADF" && error.call === "fallocate",
  );
});
