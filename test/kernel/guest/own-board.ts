/** The owner's own board, as `--slot bar_swap` has it, in the process of the tests. */
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock, type Result } from "../../../src/base/mod.ts";
import {
  BAR_SWAP_PATH,
  createBarSwapBoard,
  createStepLauncher,
  type BarSwapBoard,
  type BoardFailure,
} from "../../../src/board/mod.ts";
import { BAR1_BYTES, DIES } from "./board-module.ts";

const STEP_PROGRAM = fileURLToPath(new URL("../../../src/cli/board-step-main.js", import.meta.url));
const SLOT_CHECK = "/mnt/slot-check";

/** What hangs here hangs for good; all else takes milliseconds, and a process a second or two. */
const HANG_MS = 5000;

const TIMEOUTS = {
  attributeMs: HANG_MS,
  presenceMs: HANG_MS,
  bindMs: HANG_MS,
  loadMs: 4 * HANG_MS,
  slotQueryMs: HANG_MS,
  slotMoveMs: HANG_MS,
};

export const log: string[] = [];

export function openBoard(): BarSwapBoard {
  return createBarSwapBoard({
    root: "/",
    devicePath: BAR_SWAP_PATH,
    launchStep: createStepLauncher({
      command: [process.execPath, STEP_PROGRAM],
      log: (line) => log.push(line),
    }),
    clock: systemClock,
    log: (line) => log.push(line),
    ownerPid: process.pid,
    timeouts: TIMEOUTS,
  });
}

/** A board that knows its dies. */
export async function discoveredBoard(): Promise<BarSwapBoard> {
  const board = openBoard();
  valueOf(await board.discover(() => assert.fail("a board with a window asks no driver")));
  return board;
}

export function valueOf<T>(result: Result<T, BoardFailure>): T {
  if (!result.ok) assert.fail(`${result.error.call}: ${result.error.message}`);
  return result.value;
}

/** Its failure, of this verdict, with a message like that. */
export function failureOf<T>(
  result: Result<T, BoardFailure>,
  verdict: BoardFailure["verdict"],
  message: RegExp,
): BoardFailure {
  assert.ok(!result.ok, "it did not fail");
  assert.match(result.error.message, message);
  assert.equal(result.error.verdict, verdict, result.error.message);
  return result.error;
}

/** Writes each die's own content into its BAR1. */
export function fillDies(): void {
  execFileSync(SLOT_CHECK, ["fill"], { stdio: "pipe" });
}

export type SlotState = {
  /** -1 where nobody is. */
  readonly occupant: number;
  readonly holderPid: number;
  readonly acquires: number;
};

/** What the slot says of itself, asked by a process that is none of the owner's. */
export const querySlot = (): SlotState =>
  JSON.parse(execFileSync(SLOT_CHECK, ["query"], { encoding: "utf8" })) as SlotState;

/** What slot-check.c writes. */
const wordOf = (die: number, index: number): number =>
  Math.imul(index + 1 + die * 0x10001, 0x9e3779b1) >>> 0;

/** Looks at a few words at `offset` of BAR1, which tell the die. */
export async function checkContent(board: BarSwapBoard, die: number, offset = 0): Promise<void> {
  const bytes = Buffer.from(valueOf(await board.readBar(offset, 64)));
  const expected = Array.from({ length: 16 }, (_, index) => wordOf(die, offset / 4 + index));
  const found = expected.map((_, index) => bytes.readUInt32LE(4 * index));
  assert.deepEqual(found, expected, `the window does not show die ${String(die)} at ${offset}`);
}

/** The last words that the window shows. */
export const LAST_OFFSET = BAR1_BYTES - 64;

export const ALL_DIES: readonly number[] = Array.from({ length: DIES }, (_, die) => die);

/** Another process, none of Holdfast's, that acquires the die and stays. */
export async function holdDie(die: number): Promise<ChildProcess> {
  const child = spawn(SLOT_CHECK, ["hold", String(die)], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  assert.equal(line, "held");
  return child;
}

/** Ends it as a crash does, and waits for its end. */
export async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
}
