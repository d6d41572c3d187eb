import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildGuestProgram, buildSlotCheck } from "./build.ts";
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

test("the slot's check builds without a warning, and says that there is no slot", { skip }, (t) => {
  buildSlotCheck(ROOT, folder);
  if (existsSync("/dev/bar_swap")) {
    t.skip("this machine has a slot, which is not for tests");
    return;
  }
  const run = spawnSync(join(folder, "slot-check"), [], { encoding: "utf8" });
  assert.equal(run.status, 1);
  assert.equal(run.stdout, "not ok 1 /dev/bar_swap opens\n");
});

for (const script of ["init", "run.sh"]) {
  test(`test/kernel/guest/${script} is a script that sh can read`, () => {
    const path = join(ROOT, "test", "kernel", "guest", script);
    const read = spawnSync("sh", ["-n", path], { encoding: "utf8" });
    assert.equal(read.status, 0, read.stderr);
  });
}
