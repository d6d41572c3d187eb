import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { KernelArgumentText } from "./argument.ts";
import { parseArguments } from "./argument.ts";
import { jobArguments } from "./job-files.ts";

const working = mkdtempSync(join(tmpdir(), "holdfast-files-"));
const folders = { working, preview: "/preview" };
after(() => {
  rmSync(working, { recursive: true });
});
writeFileSync(join(working, "five"), "12345");
writeFileSync(join(working, "empty"), "");
mkdirSync(join(working, "folder"));
assert.equal(spawnSync("mkfifo", [join(working, "fifo")]).status, 0);

function parsed(texts: readonly string[]): readonly KernelArgumentText[] {
  const result = parseArguments(texts);
  assert.ok(result.ok);
  return result.value;
}

test("files become regions with absolute paths, and outputs without a file become previews", () => {
  const texts = ["u32:5", "in:@five", "out:f32[2]@made", "inout:@five@five", "out:u32[9]"];
  const built = jobArguments(parsed(texts), folders);
  const five = join(working, "five");
  const region = { path: five, offset: 0, bytes: 5 };
  const source = { kind: "file", region };
  const to = (path: string): object => ({ kind: "file", path });
  assert.deepEqual(built, {
    ok: true,
    value: {
      arguments: [
        { kind: "scalar", type: "u32", value: "5" },
        { kind: "buffer", bytes: 5, source, target: null },
        { kind: "buffer", bytes: 8, source: { kind: "zero" }, target: to(join(working, "made")) },
        { kind: "buffer", bytes: 5, source, target: to(five) },
        { kind: "buffer", bytes: 36, source: { kind: "zero" }, target: to("/preview/argument-5") },
      ],
      previews: [{ argument: 5, path: "/preview/argument-5", bytes: 36, type: "u32" }],
    },
  });
});

const BAD: readonly [text: string, message: RegExp][] = [
  ["in:@missing", /^argument 2: cannot read .*missing: it or its folder does not exist$/],
  ["in:@five/x", /cannot read .*: a part of its path is no folder$/],
  ["in:@empty", /empty is empty$/],
  ["in:@folder", /folder is no regular file$/],
  ["in:@fifo", /fifo is no regular file$/],
  ["in:@/dev/zero", /no regular file$/],
  ["out:4@folder", /folder is no regular file$/],
  ["out:4@fifo", /no regular file$/],
  ["out:4@no/such", /cannot write .*: it or its folder does not exist$/],
  ["out:4@five/x", /cannot write .*: a part of its path is no folder$/],
  ["inout:@missing@x", /cannot read/],
  ["inout:@five@no/such", /cannot write/],
];

for (const [text, message] of BAD) {
  test(`files: ${text} is refused`, () => {
    const built = jobArguments(parsed(["u32:5", text]), folders);
    assert.ok(!built.ok);
    assert.match(built.error, message);
  });
}
