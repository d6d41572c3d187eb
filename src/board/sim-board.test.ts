// The simulated machine by itself: what its steps do to window, driver and sysfs, and what becomes
// of them when it is reset, or an owner is gone in the middle of one.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createMortalClock, InvariantError, VirtualClock, type Result } from "../base/mod.ts";
import type { Board, BoardEvent, BoardFailure } from "./board.ts";
import { openSimBoard } from "./sim-board.ts";
import { overridesOf } from "./sim-driver.ts";
import { createSimMachine, type SimMachine } from "./sim-machine.ts";
import { SIM_MACHINE, type SimFault } from "./sim-scenario.ts";

type Bench = {
  readonly clock: VirtualClock;
  readonly machine: SimMachine;
  readonly board: Board;
  readonly take: <T>(step: Promise<T>) => Promise<T | "never">;
};

const fault = (given: Partial<SimFault> & Pick<SimFault, "kind" | "step">): SimFault => ({
  ...{ die: null, nth: 1, probability: 0, clearsAfterMs: null, xids: [48], silent: false },
  ...given,
});

function createBench(faults: readonly SimFault[] = [], boards = 1): Bench {
  const clock = new VirtualClock();
  const machine = createSimMachine({ spec: { ...SIM_MACHINE, boards, faults }, clock });
  const take = async <T>(step: Promise<T>): Promise<T | "never"> => {
    let ended: { readonly value: T } | null = null;
    void step.then((value) => (ended = { value }));
    await clock.run(() => ended !== null, clock.nowMs() + 100_000);
    return (ended as { readonly value: T } | null)?.value ?? "never";
  };
  return { clock, machine, board: openSimBoard(machine, clock), take };
}

const verdictOf = (result: Result<unknown, BoardFailure> | "never"): string =>
  result === "never" ? result : result.ok ? "ok" : result.error.verdict;

test("a first die comes up with the others blocked; a second one is then bound", async () => {
  const { machine, board, take } = createBench();
  const { driver } = board;
  assert.equal(verdictOf(await take(board.acquire(0))), "ok");
  assert.equal(board.occupant(0), 0);
  assert.equal(verdictOf(await take(driver.blockAllExcept(0))), "ok");
  assert.deepEqual(overridesOf(machine), [null, "holdfast-blocked"]);
  assert.equal(verdictOf(await take(driver.load())), "ok");
  assert.deepEqual([driver.isLoaded(), driver.isBound(0), driver.isBound(1)], [true, true, false]);
  assert.equal(verdictOf(await take(board.acquire(1))), "ok");
  assert.equal(verdictOf(await take(driver.unblock(1))), "ok");
  assert.equal(verdictOf(await take(driver.bind(1))), "ok");
  assert.ok(driver.isBound(1));
});

test("wrong orders are told: a bind of a blocked die, and a second load", async () => {
  const { board, take } = createBench();
  const { driver } = board;
  await take(board.acquire(0));
  await take(driver.blockAllExcept(0));
  await take(driver.load());
  await assert.rejects(driver.bind(1), InvariantError);
  await assert.rejects(driver.load(), InvariantError);
});

test("a step that is refused leaves nothing once it is restored", async () => {
  const { machine, board, take } = createBench([fault({ kind: "refused", step: "modprobe" })]);
  const before = overridesOf(machine);
  await take(board.acquire(1));
  await take(board.driver.blockAllExcept(1));
  assert.notDeepEqual(overridesOf(machine), before);
  assert.equal(verdictOf(await take(board.driver.load())), "refused");
  await take(board.driver.restore(1));
  assert.deepEqual(overridesOf(machine), before);
  assert.equal(board.driver.isLoaded(), false);
});

test("a step that hangs is given up after a while, and hangs again until that clears", async () => {
  const hang = fault({ kind: "hang", step: "acquire", clearsAfterMs: 15_000 });
  const { clock, board, take } = createBench([hang]);
  assert.equal(verdictOf(await take(board.acquire(0))), "hung");
  assert.equal(board.occupant(0), null);
  assert.ok(clock.nowMs() >= SIM_MACHINE.stepTimeoutMs);
  assert.equal(verdictOf(await take(board.acquire(0))), "hung");
  assert.equal(verdictOf(await take(board.acquire(0))), "ok");
});

test("a reset ends every step, and the machine is as new", async () => {
  const { machine, board, take } = createBench([fault({ kind: "host_reset", step: "modprobe" })]);
  const { boot } = machine;
  await take(board.acquire(0));
  await take(board.driver.blockAllExcept(0));
  assert.equal(await take(board.driver.load()), "never");
  assert.notEqual(machine.boot, boot);
  assert.deepEqual(overridesOf(machine), [null, null]);
  assert.deepEqual([board.occupant(0), board.driver.isLoaded()], [null, false]);
});

test("an owner that is gone hears of no step; the next one finds what came of it", async () => {
  const { clock, machine, take } = createBench();
  const mortal = createMortalClock(clock);
  const acquired = openSimBoard(machine, mortal.clock).acquire(0);
  mortal.end();
  const next = openSimBoard(machine, clock);
  assert.equal(verdictOf(await take(next.acquire(1))), "ok");
  assert.equal(next.occupant(0), 1);
  assert.equal(await take(acquired), "never");
});

test("an Xid is heard through the kernel's log, and a die off the bus is seen", async () => {
  const faults = [fault({ kind: "off_bus", step: "bind", die: 1, clearsAfterMs: 500 })];
  const { clock, machine, board, take } = createBench(faults, 2);
  const events: BoardEvent[] = [];
  const forget = board.watch((event) => void events.push(event));
  machine.strike("bind", 1);
  assert.equal(await take(board.presence(1)), "off_bus");
  assert.deepEqual(
    events.map(({ die, kind, xid }) => [die, kind, xid]),
    [[1, "xid", 79]],
  );
  await clock.run(() => false, clock.nowMs() + 1000);
  assert.equal(await take(board.presence(1)), "present");
  forget();
  machine.logKernelLine("NVRM: Xid (PCI:0000:05:00): 48, pid=1, DBE");
  await clock.run(() => false, clock.nowMs() + 10);
  assert.equal(events.length, 1);
});

test("each board has a window of its own", async () => {
  const { board, take } = createBench([], 2);
  assert.deepEqual([0, 1, 2, 3].map(board.hostGroupOf), [0, 0, 1, 1]);
  await take(board.acquire(1));
  await take(board.acquire(2));
  assert.deepEqual([board.occupant(0), board.occupant(1)], [1, 2]);
});
