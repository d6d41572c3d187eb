import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./check-report.ts";

test("a check passes where every claim is true, and else names those that are not", () => {
  assert.deepEqual(judge("seen", { one: true, two: true }), { pass: true, seen: "seen" });
  assert.deepEqual(judge("seen", { one: false, two: true, three: false }), {
    pass: false,
    seen: "seen; not true: one, three",
  });
});
