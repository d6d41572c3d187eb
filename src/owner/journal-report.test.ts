import assert from "node:assert/strict";
import { test } from "node:test";
import type { SlotKind } from "../board/mod.ts";
import type { JournalLine } from "./journal.ts";
import { countStrange, findInterruptions, parseJournal } from "./journal-report.ts";

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
    found: ["killed bind 1"],
  },
  {
    name: "a killed owner, and a later climb that passes the rung",
    lines: [line({}), line({ pid: 8, step: "context", phase: "done" })],
    found: [],
  },
  {
    name: "an owner killed in a swap, and the die answers another one",
    lines: [line({ step: "swap" }), line({ pid: 8, step: "probe", phase: "done" })],
    found: [],
  },
  {
    name: "control: a swap under way, in which the same owner had the die answer",
    lines: [line({ step: "swap" }), line({ step: "probe", phase: "done" })],
    found: ["killed swap 1"],
  },
  {
    name: "control: a swap that took the machine down, and the die answers after it",
    lines: [line({ boot: "old", step: "swap" }), line({ pid: 8, step: "probe", phase: "done" })],
    found: ["host_reset swap 1"],
  },
  {
    name: "a die that has another number by now was climbed, as its address tells",
    lines: [
      line({ boot: "old", address: "0000:06:00.0" }),
      line({ die: 2, address: "0000:06:00.0", phase: "done" }),
    ],
    found: [],
  },
  {
    name: "another die that has its number by now tells nothing of it",
    lines: [
      line({ boot: "old", address: "0000:06:00.0" }),
      line({ address: "0000:09:00.0", phase: "done" }),
    ],
    found: ["host_reset bind 1"],
  },
  {
    name: "a rehearsal tells nothing of the board, though its addresses are the same",
    lines: [
      line({ boot: "old", slot: "bar_swap", address: "0000:06:00.0" }),
      line({ slot: "sim", address: "0000:06:00.0", phase: "done" }),
    ],
    found: ["host_reset bind 1"],
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

test("findInterruptions() for a slot tells a simulated board from real ones", () => {
  const lines = [line({ slot: "sim" }), line({ die: 0, slot: "direct" }), line({ die: 2 })];
  const diesFor = (slot: SlotKind): readonly number[] =>
    findInterruptions(textOf(lines), { ...here, slot }).map(({ line: { die } }) => die);
  assert.deepEqual(diesFor("sim"), [1, 2]);
  assert.deepEqual(diesFor("bar_swap"), [0, 2]);
});

for (const [name, value] of [
  ["step", "warp"],
  ["die", 1e20],
  ["die", -1],
  ["die", 0.5],
  ["die", 32],
  ["time", "yesterday"],
  ["time", "2026-12-01"],
  ["pid", -5],
  ["pid", 4_194_305],
  ["address", 5],
  ["address", "\u001b[2J"],
  ["phase", "zzz"],
  ["boot", null],
  ["slot", "side"],
  ["verdict", "maybe"],
  ["stepPid", "1"],
  ["detail", {}],
] as const) {
  test(`a line whose ${name} is ${JSON.stringify(value)} says nothing, and is counted`, () => {
    const broken = JSON.stringify({ ...line({}), [name]: value });
    const text = `${textOf([line({ die: 0 })])}${broken}\n`;
    assert.deepEqual(parseJournal(text), [line({ die: 0 })]);
    assert.equal(countStrange(text), 1);
    assert.equal(findInterruptions(text, here).length, 1);
  });
}

test("countStrange(): none where all lines are ours", () => {
  const whole = line({ slot: "sim", address: "soft:0", detail: "x", verdict: "hung", stepPid: 9 });
  assert.equal(countStrange(textOf([line({}), whole])), 0);
  assert.equal(parseJournal(textOf([whole])).length, 1);
});
