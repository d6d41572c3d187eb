import assert from "node:assert/strict";
import { test } from "node:test";
import { readConsoleLine, readTestCounts } from "./console.ts";

const LINES: readonly (readonly [string, ReturnType<typeof readConsoleLine>])[] = [
  ["HOLDFAST-GUEST v1 begin", { kind: "begin", part: "v1" }],
  ["HOLDFAST-GUEST v1 rc=0", { kind: "end", part: "v1", code: 0 }],
  ["HOLDFAST-GUEST v2 rc=124", { kind: "end", part: "v2", code: 124 }],
  ["HOLDFAST-GUEST init rc=1 (no 9p root)", { kind: "end", part: "init", code: 1 }],
  ["[    3.1] hf: noise HOLDFAST-GUEST end", { kind: "whole" }],
  ["HOLDFAST-GUEST module overlay not loaded", { kind: "line", text: "module overlay not loaded" }],
  ["ok 1 vadd", { kind: "line", text: "ok 1 vadd" }],
];

for (const [line, event] of LINES) {
  test(`console: '${line}' is read as ${event.kind}`, () => {
    assert.deepEqual(readConsoleLine(line), event);
  });
}

test("console: the closing lines of a report are counted", () => {
  const lines = ["✔ mail (3.1ms)", "ℹ tests 12", "ℹ suites 0", "ℹ pass 11", "ℹ fail 1"];
  const counts = { tests: 12, pass: 11, fail: 1, skipped: 0 };
  assert.deepEqual(readTestCounts(lines), counts);
  assert.deepEqual(readTestCounts([...lines, "ℹ skipped 2"]), { ...counts, skipped: 2 });
});

test("console: a report that was cut short has no counts", () => {
  assert.equal(readTestCounts(["✔ mail (3.1ms)", "ℹ tests 12"]), null);
});
