/** The window through the owner's own board: moves, holders, losses and hangs. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import type { BarSwapBoard, BoardEvent } from "../../../src/board/mod.ts";
import {
  ALL_PRESENT,
  DIES,
  loadBoard,
  readDieFile,
  resetBoard,
  setBoard,
  unloadBoard,
} from "./board-module.ts";
import {
  ALL_DIES,
  checkContent,
  discoveredBoard,
  failureOf,
  fillDies,
  holdDie,
  kill,
  LAST_OFFSET,
  openBoard,
  valueOf,
} from "./own-board.ts";
import { untilTrue } from "./until.ts";

const SWAPS = 1000;

type Context = { board: BarSwapBoard };

export function registerSlotTests(): void {
  // Filled before the first test.
  const context = {} as Context;
  before(async () => {
    fillDies();
    context.board = await discoveredBoard();
  });
  after(() => {
    context.board.leave();
    resetBoard();
  });
  registerMoveTests(context);
  registerHolderTests(context);
  registerFailureTests(context);
  registerHangTest(context);
  registerReloadTest(context);
}

function registerMoveTests(context: Context): void {
  test("slot: each die in turn is where sysfs has its BAR1, and shows its own content", async () => {
    for (const die of ALL_DIES) {
      const view = valueOf(await context.board.acquire(die));
      const [line = ""] = readDieFile(die, "resource").split("\n").slice(1);
      assert.equal(view.bar1Address, BigInt(line.split(" ")[0] ?? ""));
      assert.equal(context.board.occupant(0), die);
      await checkContent(context.board, die);
      await checkContent(context.board, die, LAST_OFFSET);
    }
    failureOf(await context.board.acquire(DIES), "refused", /no such die/);
    assert.equal(context.board.occupant(0), DIES - 1);
  });

  test(`slot: ${SWAPS} swaps over four dies, the content right after each`, async () => {
    const { board } = context;
    for (let turn = 0; turn < SWAPS; turn++) {
      const die = turn % DIES;
      assert.equal(valueOf(await board.acquire(die)).die, die);
      await checkContent(board, die, turn % 2 === 0 ? 0 : LAST_OFFSET);
    }
  });
}

function registerHolderTests(context: Context): void {
  test("slot: left by a process that was killed, its die is adopted without a move", async () => {
    const { board } = context;
    valueOf(await board.acquire(2));
    // Ends its processes by SIGKILL, as the owner's own end does.
    board.leave();
    context.board = await discoveredBoard();
    assert.equal(context.board.occupant(0), 2);
    valueOf(await context.board.acquire(2));
    await checkContent(context.board, 2);
    valueOf(await context.board.acquire(0));
    await checkContent(context.board, 0);
  });

  test("slot: while another process holds it, it is refused and that process named", async () => {
    context.board.leave();
    setBoard("slot_lose", 1);
    const other = await holdDie(3);
    context.board = await discoveredBoard();
    const name = new RegExp(`pid ${String(other.pid)} \\(slot-check\\)`);
    failureOf(await context.board.acquire(1), "refused", name);
    await kill(other);
    valueOf(await context.board.acquire(1));
    await checkContent(context.board, 1);
  });
}

function registerFailureTests(context: Context): void {
  test("slot: a die that cannot be acquired leaves the one before in the slot", async () => {
    const { board } = context;
    valueOf(await board.acquire(0));
    setBoard("present", ALL_PRESENT & ~4);
    failureOf(await board.acquire(2), "refused", /does not answer on the bus/);
    setBoard("present", ALL_PRESENT);
    assert.equal(board.occupant(0), 0);
    await checkContent(board, 0);
  });

  test("slot: released behind our back, it is noticed and acquired again", async () => {
    const { board } = context;
    const events: BoardEvent[] = [];
    const stop = board.watch((event) => events.push(event));
    setBoard("slot_lose", 1);
    await untilTrue(() => events.length > 0);
    stop();
    assert.equal(events[0]?.kind, "slot_lost");
    assert.equal(events[0].die, 0);
    failureOf(await board.readBar(0, 64), "refused", /no die is in the slot/);
    valueOf(await board.acquire(0));
    await checkContent(board, 0);
  });
}

function registerHangTest(context: Context): void {
  test("slot: an ACQUIRE that hangs is told to hang; let go, the slot serves again", async () => {
    const { board } = context;
    valueOf(await board.acquire(0));
    setBoard("slot_stall", 1);
    failureOf(await board.acquire(1), "hung", /state D/);
    setBoard("slot_stall", 0);
    // Its process does what it was called for, and ends; the next one finds what it left.
    valueOf(await board.acquire(2));
    await checkContent(board, 2);
  });
}

function registerReloadTest(context: Context): void {
  test("slot: the module goes and comes back; without it, the mend is named", async () => {
    context.board.leave();
    await unloadBoard();
    assert.ok(!existsSync("/dev/bar_swap"));
    const board = openBoard();
    failureOf(await board.discover(() => assert.fail("not asked")), "refused", /bar_swap/);
    board.leave();
    loadBoard(DIES);
    fillDies();
    context.board = await discoveredBoard();
    assert.equal(context.board.occupant(0), null);
    valueOf(await context.board.acquire(3));
    await checkContent(context.board, 3);
  });
}
