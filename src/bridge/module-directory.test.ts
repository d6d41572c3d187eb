import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { ModuleDirectory, RESCAN_MS_MIN } from "./module-directory.ts";
import { NoticeLog } from "./notice-log.ts";
import { testFolder } from "./testing.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function open(context: TestContext) {
  const folder = testFolder(context);
  const lines: string[] = [];
  let ms = 0;
  const sleeps: number[] = [];
  const clock = {
    nowMs: () => ms,
    sleep: (waitMs: number) => {
      sleeps.push(waitMs);
      ms += waitMs;
      return Promise.resolve();
    },
  };
  const notices = new NoticeLog((line) => lines.push(line), clock);
  const modules = new ModuleDirectory({ folder, clock, notices });
  const pass = (by: number): void => void (ms += by);
  return { folder, lines, modules, sleeps, pass };
}

test("a module is found by the hash of its text, wherever it is", async (context) => {
  const { folder, modules, pass } = open(context);
  writeFileSync(join(folder, "a.ptx"), "text a");
  writeFileSync(join(folder, "b.ptx"), "text b");
  writeFileSync(join(folder, "c.cu"), "text c");
  const found = { name: "b.ptx", path: join(folder, "b.ptx"), sha256: sha256("text b") };
  assert.deepEqual(await modules.find(sha256("text b")), found);
  pass(RESCAN_MS_MIN);
  assert.equal(await modules.find(sha256("text c")), null);
  pass(RESCAN_MS_MIN);
  renameSync(join(folder, "b.ptx"), join(folder, "z.ptx"));
  assert.equal((await modules.find(sha256("text b")))?.name, "z.ptx");
});

test("a module that came, changed or went is seen at the next look", async (context) => {
  const { folder, modules, pass } = open(context);
  assert.equal(await modules.find(sha256("first")), null);
  pass(RESCAN_MS_MIN);
  writeFileSync(join(folder, "m.ptx"), "first");
  assert.equal((await modules.find(sha256("first")))?.name, "m.ptx");
  pass(RESCAN_MS_MIN);
  writeFileSync(join(folder, "m.ptx"), "second one");
  assert.equal(await modules.find(sha256("first")), null);
  assert.equal((await modules.find(sha256("second one")))?.name, "m.ptx");
  rmSync(join(folder, "m.ptx"));
  pass(RESCAN_MS_MIN);
  assert.equal(await modules.find(sha256("second one")), null);
});

test("each wrong hash costs one look, and looks are some time apart", async (context) => {
  const { folder, modules, sleeps } = open(context);
  await modules.find(sha256("nothing"));
  assert.deepEqual(sleeps, []);
  writeFileSync(join(folder, "m.ptx"), "text");
  const all = await Promise.all(["text", "no", "text"].map((text) => modules.find(sha256(text))));
  // A module that has just come is found all the same: its job waits for the next look.
  assert.deepEqual(
    all.map((module) => module?.name),
    ["m.ptx", undefined, "m.ptx"],
  );
  assert.deepEqual(sleeps, [RESCAN_MS_MIN, RESCAN_MS_MIN]);
});

test("what is no module is left alone, and told of once", async (context) => {
  const { folder, modules, lines, pass } = open(context);
  mkdirSync(join(folder, "folder.ptx"));
  writeFileSync(join(folder, "huge.ptx"), "");
  truncateSync(join(folder, "huge.ptx"), 64 * 1024 * 1024 + 1);
  for (let looks = 0; looks < 3; looks++) {
    assert.equal(await modules.find(sha256("x")), null);
    pass(RESCAN_MS_MIN);
  }
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /huge\.ptx has 67108865 bytes; a module has at most 67108864/);
});

test("a folder that is gone holds nothing, and is told of", async (context) => {
  const { folder, modules, lines } = open(context);
  rmSync(folder, { recursive: true });
  assert.equal(await modules.find(sha256("x")), null);
  assert.match(lines[0] ?? "", /cannot be read: ENOENT/);
});
