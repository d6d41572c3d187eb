import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { realPathOf } from "./real-path.ts";
import { testFolder } from "./testing.ts";

test("a file has one real path, by whatever links and dots it is reached", (context) => {
  const folder = realpathSync(testFolder(context));
  mkdirSync(join(folder, "box"));
  writeFileSync(join(folder, "box", "job"), "");
  symlinkSync(join(folder, "box"), join(folder, "alias"));
  symlinkSync("box/job", join(folder, "link"));
  symlinkSync("loop", join(folder, "loop"));
  const cases: readonly (readonly [given: string, real: string])[] = [
    ["box/job", "box/job"],
    ["alias/job", "box/job"],
    ["link", "box/job"],
    ["box/done", "box/done"],
    ["alias/done", "box/done"],
    ["alias/later/deep/done", "box/later/deep/done"],
    ["box/job/below", "box/job/below"],
    ["loop", "loop"],
    ["other/job", "other/job"],
  ];
  for (const [given, real] of cases) {
    assert.equal(realPathOf(`${folder}/${given}`), join(folder, real), given);
  }
  assert.equal(realPathOf(`${folder}/box/./../box//job`), join(folder, "box/job"));
  assert.equal(realPathOf("/"), "/");
});
