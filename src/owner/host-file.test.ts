import assert from "node:assert/strict";
import { closeSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileError } from "../base/mod.ts";
import { closeQuietly, openHeld } from "./host-file.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-file-"));
test.after(() => rmSync(folder, { recursive: true }));

const flags = constants.O_RDWR | constants.O_CREAT;

test("a file is closed once, however often that is asked for", () => {
  const held = openHeld(join(folder, "a"), flags, 0o600);
  assert.ok(existsSync(join(folder, "a")));
  held.close();
  held.close();
  assert.throws(() => closeSync(held.file), /EBADF/);
});

test("a close that fails is a FileError, or nothing where nobody cares", () => {
  const failing = (): (() => void) => {
    const held = openHeld(join(folder, "b"), flags);
    closeSync(held.file);
    return held.close;
  };
  const isError = (error: unknown): boolean =>
    error instanceof FileError && error.call === "close" && error.code === "EBADF";
  assert.throws(failing(), isError);
  const other = openHeld(join(folder, "c"), flags);
  closeQuietly([failing(), other.close]);
  assert.throws(() => closeSync(other.file), /EBADF/, "the one after it was closed, too");
  const bug = (): void => assert.fail("a bug");
  assert.throws(() => closeQuietly([bug]), /a bug/);
});

test("a file that cannot be opened is a FileError", () => {
  assert.throws(() => openHeld(join(folder, "no", "a"), flags), FileError);
});
