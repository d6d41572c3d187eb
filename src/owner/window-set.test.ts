// Several boards in one machine: each has a window and a die host of its own.
import assert from "node:assert/strict";
import { test } from "node:test";

import { systemClock } from "../base/mod.ts";
import { createSimBoard } from "../board/mod.ts";
import { noJournal } from "./journal.ts";
import { createOwner } from "./owner.ts";
import { createFakeLauncher, createFakeScript } from "./testing.ts";

const DIES_PER_BOARD = 2;

test("two boards: a busy die holds up its own window and no other", async (context) => {
  const script = createFakeScript();
  const { launch, alive } = createFakeLauncher(script, 2 * DIES_PER_BOARD);
  const owner = createOwner({
    board: createSimBoard({ dies: DIES_PER_BOARD, boards: 2, clock: systemClock }),
    launchHost: launch,
    baseModule: { name: "base.ptx", path: import.meta.filename },
    log: () => undefined,
    journal: noJournal,
    clock: systemClock,
    windowPolicy: { minimumHoldMs: 0, maximumWaitMs: 50 },
    workTimeoutMs: 10_000,
    workElements: 1024,
  });
  context.after(() => owner.leave());
  for (const die of [0, 1, 2, 3]) assert.equal((await owner.online(die)).ok, true);
  assert.equal(alive(), 2, "a die host for each board");
  script.heldKernel = "slow_add";
  assert.equal((await owner.work(0, 1, 2)).ok, true);
  const waits = owner.swap(1);
  for (const die of [2, 3, 2]) {
    const swapped = await owner.swap(die);
    assert.ok(swapped.ok && swapped.value.moved, `die ${String(die)} of the other board`);
  }
  const { windows, waiting, swaps, dies, activeDie } = await owner.status();
  assert.deepEqual(
    windows.map((window) => [window.group, window.occupant, window.leases, window.waiting]),
    [
      [0, 0, 1, 1],
      [1, 2, 0, 0],
    ],
  );
  assert.deepEqual([activeDie, waiting, swaps], [0, 1, 8]);
  assert.deepEqual(
    dies.map((die) => [die.isBusy, die.waiting]),
    [
      [true, 0],
      [false, 1],
      [false, 0],
      [false, 0],
    ],
  );
  script.heldKernel = null;
  const swapped = await waits;
  assert.ok(swapped.ok && swapped.value.moved);
});
