import assert from "node:assert/strict";
import { test } from "node:test";
import { ECHO_CHARACTERS_MAX, printable } from "./printable.ts";

const TABLE: readonly [input: string, output: string][] = [
  ["status", "status"],
  ["grüße 你 🙂", "grüße 你 🙂"],
  ["a\tb", "a\\x09b"],
  ["a\nb\r", "a\\x0ab\\x0d"],
  ["\x1b[31m", "\\x1b[31m"],
  ["\x7f\x9b", "\\x7f\\x9b"],
  ["\u202e\u2028\u200b", "\\u{202e}\\u{2028}\\u{200b}"],
  ["back\\slash", "back\\\\slash"],
  ["\ud800", "\\u{d800}"],
];

for (const [input, output] of TABLE) {
  test(`printable ${JSON.stringify(input)}`, () => {
    assert.equal(printable(input), output);
  });
}

test("printable cuts what is too long, and not what just fits", () => {
  const fits = "a".repeat(ECHO_CHARACTERS_MAX);
  assert.equal(printable(fits), fits);
  assert.equal(printable(`${fits}b`), `${fits}…`);
});
