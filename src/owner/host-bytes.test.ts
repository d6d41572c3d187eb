import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileError } from "../base/mod.ts";
import { openRegion, openTarget } from "./host-bytes.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-bytes-"));
test.after(() => rmSync(folder, { recursive: true }));

test("openRegion() reads a region of a file in chunks", () => {
  const path = join(folder, "in");
  writeFileSync(path, Buffer.from("0123456789"));
  const source = openRegion({ path, offset: 2, bytes: 6 }, 6);
  const [first, second] = [new Uint8Array(4), new Uint8Array(2)];
  source.fill(first, 0);
  source.fill(second, 4);
  source.close();
  assert.equal(Buffer.concat([first, second]).toString(), "234567");
});

test("openRegion() tells a missing file, a short one and a folder apart", () => {
  const path = join(folder, "short");
  writeFileSync(path, "abc");
  const open = (name: string, bytes: number) => (): void =>
    openRegion({ path: join(folder, name), offset: 0, bytes }, bytes).close();
  assert.doesNotThrow(open("short", 3));
  const cases = [
    ["short", 4, "SHORT", /holds 3 bytes; 4 are needed/],
    ["none", 1, "ENOENT", /^open .*none: no such file/],
  ] as const;
  for (const [name, bytes, code, message] of cases) {
    assert.throws(open(name, bytes), (error) => {
      assert.ok(error instanceof FileError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("openTarget() leaves a file as it was until it is written, then cuts it to size", () => {
  const path = join(folder, "out");
  writeFileSync(path, "what was here before");
  openTarget(path).close();
  assert.equal(readFileSync(path, "utf8"), "what was here before");
  const target = openTarget(path);
  target.write(Buffer.from("new "), 0);
  target.write(Buffer.from("text"), 4);
  target.finish(8);
  target.close();
  assert.equal(readFileSync(path, "utf8"), "new text");
});

test("openTarget() says which call failed on which file", () => {
  assert.throws(
    () => openTarget(join(folder, "no", "such")),
    (error) => error instanceof FileError && error.call === "open" && error.code === "ENOENT",
  );
  assert.throws(() => openTarget(folder), FileError);
});
