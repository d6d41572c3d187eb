// A ladder whose owner stops taking work: that is no complete climb.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { LadderReport } from "./reports.ts";
import { createBoardBench } from "./testing-board.ts";

const refusedOf = ({ rows }: LadderReport): readonly string[] =>
  rows
    .filter(({ outcome }) => outcome === "refused")
    .map(({ die, step }) => `${step} ${String(die)}`);

test("an owner that takes no work refuses the first rung", async () => {
  for (const stop of ["drain", "park", "leave"] as const) {
    const { owner, take } = createBoardBench({ slot: "sim", dies: 2 });
    await take(owner.discover());
    await take<unknown>(owner[stop]());
    const report = await take(owner.ladder({ until: null, pauseMs: 0 }));
    assert.equal(report.outcome, "failed", stop);
    assert.deepEqual(refusedOf(report), ["discover 0"], stop);
  }
});

for (const [step, refused] of [
  ["acquire", ["work 0", "acquire 1"]],
  ["probe", ["work 0", "acquire 1"]],
  ["read", ["acquire 1", "swap 0"]],
] as const) {
  test(`drained in ${step} of the first die: each further rung says so`, async () => {
    const bench = createBoardBench({ slot: "sim", dies: 2 });
    const { owner } = bench;
    const climbing = owner.ladder({ until: null, pauseMs: 1_000 });
    const hasBegun = (): boolean => bench.entries.at(-1)?.step === step;
    assert.equal(await bench.clock.run(hasBegun, 3_600_000), "done");
    void owner.drain();
    const report = await bench.take(climbing);
    assert.equal(report.outcome, "failed");
    assert.deepEqual(refusedOf(report), refused);
    const row = report.rows.find(({ die }) => die === 1);
    assert.match(row?.detail ?? "", /takes no further work/);
    assert.match(bench.lines.join("\n"), /die 1: acquire refused: .*takes no further work/);
  });
}

test("on a direct board the driver's rung is skipped, since no die waits for it", async () => {
  const { owner, take } = createBoardBench({ slot: "direct", dies: 1 });
  const { rows } = await take(owner.ladder({ until: null, pauseMs: 0 }));
  const row = rows.find(({ step }) => step === "load-driver");
  assert.deepEqual([row?.outcome, row?.detail], ["skipped", "every die is bound as it is found"]);
});
