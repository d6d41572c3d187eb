import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalLine } from "./journal.ts";
import { findInterruptions, parseJournal } from "./journal-report.ts";

/** Process 1 is the one that was started at tick 70. */
const here = {
  bootId: "now",
  isAlive: (pid: number, startTicks = 0): boolean =>
    pid === 1 && (startTicks === 0 || startTicks === 70),
};

const line = (more: Partial<JournalLine>): JournalLine => ({
  time: "2026-12-01T00:00:00.000Z",
  pid: 7,
  boot: "now",
  die: 1,
  step: "bind",
  phase: "begin",
  ...more,
});

const textOf = (lines: readonly JournalLine[]): string =>
  lines.map((entry) => `${JSON.stringify(entry)}\n`).join("");

const cases: readonly {
  readonly name: string;
  readonly lines: readonly JournalLine[];
  readonly found: readonly string[];
}[] = [
  { name: "an empty journal", lines: [], found: [] },
  { name: "a rung that was done", lines: [line({}), line({ phase: "done" })], found: [] },
  { name: "a rung that failed", lines: [line({}), line({ phase: "failed" })], found: [] },
  { name: "a killed owner", lines: [line({})], found: ["killed bind 1"] },
  { name: "an owner that lives", lines: [line({ pid: 1 })], found: ["running bind 1"] },
  { name: "a host that was reset", lines: [line({ boot: "old" })], found: ["host_reset bind 1"] },
  {
    name: "a pid that was given out again after a reset",
    lines: [line({ boot: "old", pid: 1 })],
    found: ["host_reset bind 1"],
  },
  {
    name: "a rung that was climbed by the next owner",
    lines: [line({}), line({ pid: 8 }), line({ pid: 8, phase: "done" })],
    found: [],
  },
  {
    name: "a climb that ends below the rung that took the host down",
    lines: [
      line({ boot: "old" }),
      line({ step: "acquire" }),
      line({ step: "acquire", phase: "done" }),
    ],
    found: ["host_reset bind 1"],
  },
  {
    name: "a climb that passes the rung that took the host down",
    lines: [
      line({ boot: "old" }),
      line({ step: "context" }),
      line({ step: "context", phase: "done" }),
    ],
    found: [],
  },
  {
    name: "another die's climb says nothing of this one",
    lines: [line({ boot: "old" }), line({ die: 0, step: "read", phase: "done" })],
    found: ["host_reset bind 1"],
  },
  {
    name: "a killed owner, and a later climb that ends below",
    lines: [line({}), line({ step: "acquire", phase: "done" })],
    found: [],
  },
  {
    name: "a rung that hung and whose process is still there",
    lines: [line({}), line({ phase: "failed", verdict: "hung", stepPid: 1 })],
    found: ["hung bind 1"],
  },
  {
    name: "a rung that hung and whose process has ended",
    lines: [line({}), line({ phase: "failed", verdict: "hung", stepPid: 9 })],
    found: [],
  },
  {
    name: "a rung that hung in the process that is still there",
    lines: [line({ phase: "failed", verdict: "hung", stepPid: 1, stepStartTicks: 70 })],
    found: ["hung bind 1"],
  },
  {
    name: "a rung that hung in a process whose number another one has by now",
    lines: [line({ phase: "failed", verdict: "hung", stepPid: 1, stepStartTicks: 69 })],
    found: [],
  },
  {
    name: "an owner whose number another process has by now",
    lines: [line({ pid: 1, startTicks: 69 })],
    found: ["killed bind 1"],
  },
  {
    name: "a rung that hung before the machine was started anew",
    lines: [
      line({ boot: "old" }),
      line({ boot: "old", phase: "failed", verdict: "hung", stepPid: 1 }),
    ],
    found: ["host_reset bind 1"],
  },
  {
    name: "a rung that took the host down, and was done when it was tried again",
    lines: [line({ boot: "old" }), line({}), line({ phase: "done" })],
    found: [],
  },
  {
    name: "a rung that took the host down twice",
    lines: [line({ boot: "old" }), line({ boot: "older" })],
    found: ["host_reset bind 1"],
  },
  {
    name: "two dies, newest first",
    lines: [
      line({ die: 0, step: "context" }),
      line({ die: 2, time: "2026-12-01T00:00:01.000Z", step: "acquire" }),
    ],
    found: ["killed acquire 2", "killed context 0"],
  },
];

for (const { name, lines, found } of cases) {
  test(`findInterruptions(): ${name}`, () => {
    const told = findInterruptions(textOf(lines), here);
    assert.deepEqual(
      told.map(({ line: { step, die }, how }) => `${how} ${step} ${String(die)}`),
      found,
    );
  });
}

test("parseJournal() leaves out what is torn or not ours", () => {
  const whole = textOf([line({})]);
  const text = `${whole}{"time":"2026\nnull\n[]\n7\n{}\n\0\0\0\n${whole.slice(0, -9)}`;
  assert.deepEqual(parseJournal(text), [line({})]);
});
