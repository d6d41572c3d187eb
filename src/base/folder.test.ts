import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";

import { makeFolder } from "./folder.ts";

function testFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-folder-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("a folder is made with all that are missing above it, and with its mode", (context) => {
  const folder = testFolder(context);
  const deep = join(folder, "one", "two", "three");
  makeFolder(deep, 0o700);
  assert.deepEqual([modeOf(deep), modeOf(dirname(deep))], [0o700, 0o700]);
  makeFolder(join(folder, "plain"));
  mkdirSync(join(folder, "control"));
  assert.equal(modeOf(join(folder, "plain")), modeOf(join(folder, "control")));
});

test("a folder that is there stays as it is, also behind a link", (context) => {
  const folder = testFolder(context);
  mkdirSync(join(folder, "real"), { mode: 0o750 });
  symlinkSync("real", join(folder, "link"));
  for (const path of [join(folder, "real"), join(folder, "link"), "/", "."]) makeFolder(path);
  assert.equal(modeOf(join(folder, "real")), 0o750);
  makeFolder(join(folder, "link", "new"));
  makeFolder(`${folder}/other/../beside`);
  assert.ok(existsSync(join(folder, "real", "new")) && existsSync(join(folder, "beside")));
});

test("what cannot be made is told", (context) => {
  const folder = testFolder(context);
  const file = join(folder, "file");
  writeFileSync(file, "");
  symlinkSync("nowhere", join(folder, "link"));
  const cases: readonly (readonly [path: string, code: string])[] = [
    [file, "EEXIST"],
    [join(file, "below"), "ENOTDIR"],
    [join(file, "below", "further"), "ENOTDIR"],
    [join(folder, "link"), "EEXIST"],
    ["", "ENOENT"],
  ];
  for (const [path, code] of cases) {
    assert.throws(() => makeFolder(path), { name: "FileError", call: "mkdir", code }, path);
  }
});

test("a folder of the kernel that takes none is told of, and does not loop for ever", () => {
  const module = new URL("./folder.js", import.meta.url).href;
  for (const path of ["/proc/nope", "/proc/nope/bridges"]) {
    const script = `
      import { makeFolder } from ${JSON.stringify(module)};
      try {
        makeFolder(${JSON.stringify(path)});
      } catch (error) {
        console.log(error.code, error.path);
      }`;
    // In a process of its own, since nothing in this one could end an endless call.
    const words = ["--input-type=module", "-e", script];
    const run = spawnSync(process.execPath, words, { encoding: "utf8", timeout: 20_000 });
    assert.deepEqual([run.status, run.stdout], [0, "ENOENT /proc/nope\n"]);
  }
});
