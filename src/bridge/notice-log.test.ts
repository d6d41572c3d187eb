import assert from "node:assert/strict";
import { test } from "node:test";

import { BURST_LINES_MAX, CAUSES_MAX, LINES_PER_SECOND, NoticeLog } from "./notice-log.ts";

function open(): { notices: NoticeLog; lines: string[]; clock: { ms: number } } {
  const lines: string[] = [];
  const clock = { ms: 1000 };
  const notices = new NoticeLog((line) => lines.push(line), { nowMs: () => clock.ms });
  return { notices, lines, clock };
}

test("a cause is told once, and again after it was over", () => {
  const { notices, lines } = open();
  notices.tell("a", "first");
  notices.tell("a", "second");
  notices.tell("b", "third");
  notices.tell("a", "fourth");
  assert.deepEqual(lines, ["first", "third"]);
  notices.forget("a");
  notices.tell("a", "fifth");
  assert.deepEqual(lines, ["first", "third", "fifth"]);
});

test("the causes that were seen last are remembered", () => {
  const { notices, lines, clock } = open();
  notices.tell("kept", "kept");
  for (let index = 0; index < CAUSES_MAX - 1; index++) notices.tell(String(index), String(index));
  notices.tell("kept", "seen again, so that it is not the oldest");
  clock.ms += 60_000;
  notices.tell("one more", "one more");
  lines.length = 0;
  notices.tell("kept", "kept");
  assert.deepEqual(lines, []);
  notices.tell("0", "forgotten");
  assert.deepEqual(lines, ["forgotten"]);
});

test("a flood of causes is held back, and how much of it is told", () => {
  const { notices, lines, clock } = open();
  for (let index = 0; index < 1000; index++) notices.tell(String(index), `line ${String(index)}`);
  assert.equal(lines.length, BURST_LINES_MAX);
  clock.ms += 1000;
  for (let index = 1000; index < 2000; index++) notices.tell(String(index), "more");
  assert.equal(lines.length, BURST_LINES_MAX + LINES_PER_SECOND);
  const held = 1000 - BURST_LINES_MAX;
  assert.equal(lines[BURST_LINES_MAX], `more (lines held back before this: ${String(held)})`);
  assert.equal(lines[BURST_LINES_MAX + 1], "more");
});

test("a clock that stands still or goes back gives no credit, and takes none", () => {
  const { notices, lines, clock } = open();
  for (let index = 0; index < BURST_LINES_MAX; index++) notices.line("line");
  clock.ms -= 500;
  notices.line("held back");
  assert.equal(lines.length, BURST_LINES_MAX);
  clock.ms += 1000;
  notices.line("later");
  assert.equal(lines.length, BURST_LINES_MAX + 1);
});
