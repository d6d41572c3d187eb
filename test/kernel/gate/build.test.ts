import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildGuestProgram } from "./build.ts";
import { hasTool } from "./tool.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "holdfast-guest-v1-"));
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

const skip = hasTool("cc") ? false : "no C compiler (cc) on this machine";

test("examples/guest-v1 builds without a warning, and tells how it is used", { skip }, () => {
  buildGuestProgram(ROOT, folder);
  const run = spawnSync(join(folder, "guest-v1"), [], { encoding: "utf8" });
  assert.equal(run.status, 2);
  assert.match(run.stderr, /^usage: \S+ --job FILE --done FILE$/m);
});

for (const script of ["init", "run.sh"]) {
  test(`test/kernel/guest/${script} is a script that sh can read`, () => {
    const path = join(ROOT, "test", "kernel", "guest", script);
    const read = spawnSync("sh", ["-n", path], { encoding: "utf8" });
    assert.equal(read.status, 0, read.stderr);
  });
}
