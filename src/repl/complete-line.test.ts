import assert from "node:assert/strict";
import { test } from "node:test";
import { completeLine } from "./complete-line.ts";

const TABLE: readonly { line: string; offered: readonly string[]; word: string }[] = [
  { line: "onl", offered: ["online "], word: "onl" },
  { line: "s", offered: ["swap ", "status ", "shutdown "], word: "s" },
  { line: "q", offered: ["quit "], word: "q" },
  { line: "x", offered: [], word: "x" },
  { line: "online ", offered: ["0 ", "1 ", "10 "], word: "" },
  { line: "online 1", offered: ["1 ", "10 "], word: "1" },
  { line: "  online  1", offered: ["1 ", "10 "], word: "1" },
  { line: "online 1 ", offered: [], word: "" },
  { line: "work 1 ", offered: [], word: "" },
  { line: "status ", offered: [], word: "" },
  { line: "frob ", offered: [], word: "" },
];

for (const { line, offered, word } of TABLE) {
  test(`Tab after ${JSON.stringify(line)}`, () => {
    assert.deepEqual(completeLine(line, [0, 1, 10]), [offered, word]);
  });
}

test("Tab on an empty line offers every command", () => {
  const [offered] = completeLine("", []);
  assert.ok(offered.length >= 11);
  assert.ok(offered.includes("discover ") && offered.includes("quit "));
});
