/** `holdfast owner` over the board: four dies at the prompt, and how it ends. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { findInterruptions, parseJournal, readBootId } from "../../../src/owner/mod.ts";
import { countOf, DIES, driversOfAll, readDieFile, resetBoard } from "./board-module.ts";
import { GuestCommand } from "./guest-command.ts";
import { ALL_DIES, querySlot } from "./own-board.ts";
import { untilTrue } from "./until.ts";

const STATE = "/tmp/board-owner";
const JOURNAL = `${STATE}/bring-up.journal`;

const openOwner = (): GuestCommand =>
  new GuestCommand([
    ...["owner", "--slot", "bar_swap", "--backend", "soft", "--dies", String(DIES)],
    ...["--state-dir", STATE],
  ]);

type Context = { owner: GuestCommand };

export function registerOwnerTests(): void {
  // Filled before the first test.
  const context = {} as Context;
  before(() => {
    context.owner = openOwner();
  });
  after(async () => {
    await context.owner.kill();
    await untilFree();
    resetBoard();
  });
  registerPromptTest(context);
  registerTermTest(context);
  registerKillTest(context);
}

/** Until nobody has the slot: the step processes of an owner that was killed end after it. */
const untilFree = (): Promise<void> => untilTrue(() => querySlot().holderPid === -1);

function registerPromptTest(context: Context): void {
  test("owner: four dies come online behind the window, work, and are read back in any order", async () => {
    const { owner } = context;
    for (const die of ALL_DIES) owner.say(`online ${die}`);
    for (const die of ALL_DIES) {
      const line = await owner.untilLine(new RegExp(`online ${die}: OK`));
      assert.match(line, new RegExp(`bdf=${readAddress(die)}`));
    }
    assert.deepEqual(driversOfAll(), ["nvidia", "nvidia", "nvidia", "nvidia"]);
    assert.equal(countOf("probes"), DIES);
    for (const die of ALL_DIES) assert.equal(readDieFile(die, "driver_override"), "(null)\n");
    for (const die of ALL_DIES) owner.say(`work ${die} ${100 + die} 3`);
    for (const die of [2, 0, 3, 1]) owner.say(`read ${die}`);
    for (const die of ALL_DIES) await owner.untilLine(new RegExp(`read ${die}: PASS`));
    owner.say("swap 2");
    await owner.untilLine(/swap 2: OK/);
    assert.equal(querySlot().occupant, 2);
  });
}

const readAddress = (die: number): string => `1000:00:0${die}.0`;

function registerTermTest(context: Context): void {
  test("owner: SIGTERM waits for the work, then leaves with the die in the slot and all bound", async () => {
    const { owner } = context;
    owner.say("work 1 7 2000");
    await owner.untilLine(/work 1: launched \(seed=0x00000007 /);
    owner.signal("SIGTERM");
    assert.equal(await owner.end(), 0, owner.output.join("\n"));
    assert.ok(owner.output.some((line) => line.includes("SIGTERM: leaving once")));
    await untilFree();
    const { occupant, holderPid } = querySlot();
    assert.deepEqual({ occupant, holderPid }, { occupant: 1, holderPid: -1 });
    assert.deepEqual(driversOfAll(), ["nvidia", "nvidia", "nvidia", "nvidia"]);
    const interrupted = { bootId: readBootId("/"), isAlive: () => false };
    assert.deepEqual(findInterruptions(readFileSync(JOURNAL, "utf8"), interrupted), []);
  });
}

function registerKillTest(context: Context): void {
  test("owner: killed, and started again: the die is adopted, and what was bound is not bound anew", async () => {
    context.owner = openOwner();
    const { acquires } = querySlot();
    context.owner.say("online 1");
    await context.owner.untilLine(/online 1: OK/);
    assert.equal(querySlot().acquires, acquires, "adopted without a move");
    assert.equal(countOf("probes"), DIES);
    const acknowledged = readFileSync(JOURNAL, "utf8");
    await context.owner.kill();
    await untilFree();
    assert.equal(querySlot().occupant, 1);
    assert.deepEqual(driversOfAll(), ["nvidia", "nvidia", "nvidia", "nvidia"]);
    assert.ok(readFileSync(JOURNAL, "utf8").startsWith(acknowledged));
    assert.ok(
      parseJournal(acknowledged).some(({ step, phase }) => step === "probe" && phase === "done"),
    );
  });
}
