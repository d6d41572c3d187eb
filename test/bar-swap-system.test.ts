// `--slot bar_swap` on a machine that has no such slot, as almost every one is.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../bin/holdfast.js", import.meta.url));
const skip = existsSync("/dev/bar_swap") ? "this machine has a /dev/bar_swap" : false;

for (const words of ["devices --slot bar_swap", "owner --slot bar_swap --backend soft"]) {
  test(`${words}: no such device is 3, and one line with the mend`, { skip }, () => {
    const run = spawnSync(process.execPath, [PROGRAM, ...words.split(" ")], {
      ...{ input: "", encoding: "utf8", timeout: 60_000 },
    });
    assert.equal(run.status, 3, run.stderr);
    assert.match(
      run.stderr,
      /^holdfast: there is no \/dev\/bar_swap: load .*--slot sim.*doctor.*\n$/,
    );
    assert.equal(run.stdout, "");
  });
}

test("the control: --slot sim has dies", () => {
  const run = spawnSync(process.execPath, [PROGRAM, "devices", "--slot", "sim"], {
    encoding: "utf8",
  });
  assert.equal(run.status, 0, run.stderr);
});
