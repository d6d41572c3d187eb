import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { errnoError, FileError, fileCall, toFileError } from "./file-error.ts";

test("a failed call is named, with its file and the system's code", () => {
  assert.throws(
    () => fileCall("open", "/no/such", () => readFileSync("/no/such")),
    (error) =>
      error instanceof FileError &&
      error.code === "ENOENT" &&
      error.call === "open" &&
      error.path === "/no/such" &&
      error.message === "open /no/such: no such file or directory",
  );
  assert.equal(
    fileCall("open", "/", () => 7),
    7,
  );
});

test("an errno that libuv does not know has its C name all the same", () => {
  const unknown = Object.assign(new Error("UNKNOWN: unknown error, read"), {
    code: "UNKNOWN",
    errno: -116,
  });
  const error = toFileError("read", "/sys/kernel/debug/in", unknown);
  assert.equal(error.code, "ESTALE");
  assert.equal(error.message, "read /sys/kernel/debug/in: ESTALE (errno 116)");
  assert.equal(error.cause, unknown);
});

test("a number that is no errno is told as it is", () => {
  const error = errnoError({ call: "mmap", path: "/ram", errno: 4095 });
  assert.equal(error.code, "UNKNOWN");
  assert.match(error.message, /errno 4095/);
});
