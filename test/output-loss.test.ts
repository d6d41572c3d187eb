// Answers that nobody can read are no success.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../bin/holdfast.js", import.meta.url));

const run = (redirection: string): { readonly status: number | null; readonly stderr: string } =>
  spawnSync("sh", ["-c", `"$0" "$1" --help ${redirection}`, process.execPath, PROGRAM], {
    encoding: "utf8",
  });

const options = { skip: !existsSync("/dev/full") };

test("stdout on a full disk is told, and is no success", options, () => {
  const { status, stderr } = run(">/dev/full");
  assert.equal(status, 1);
  assert.match(stderr, /^holdfast: stdout could not be written \(ENOSPC\)/);
});

test("stdout that nobody wants is no failure", options, () => {
  const { status, stderr } = run(">/dev/null");
  assert.deepEqual([status, stderr], [0, ""]);
  const piped = run("| true");
  assert.deepEqual([piped.status, piped.stderr], [0, ""]);
});
