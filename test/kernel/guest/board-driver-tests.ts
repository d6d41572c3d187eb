/** PCI and the driver through the owner's own board, on a real sysfs. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { scanNvidiaGpus, type BarSwapBoard } from "../../../src/board/mod.ts";
import {
  addressOf,
  ALL_PRESENT,
  BAR0_BYTES,
  BAR1_BYTES,
  countOf,
  dieFile,
  driverOf,
  driversOfAll,
  modprobe,
  readDieFile,
  resetBoard,
  setBoard,
  setDriver,
} from "./board-module.ts";
import { ALL_DIES, discoveredBoard, failureOf, kill, valueOf } from "./own-board.ts";
import { untilTrue } from "./until.ts";

const BLOCKED = "holdfast-blocked\n";
const UNSET = "(null)\n";

const overrides = (): string[] => ALL_DIES.map((die) => readDieFile(die, "driver_override"));

export function registerDriverTests(): void {
  let board: BarSwapBoard;
  const use = (): BarSwapBoard => board;
  before(async () => {
    board = await discoveredBoard();
  });
  after(() => {
    board.leave();
    resetBoard();
  });
  registerScanTest();
  registerLoadTests(use);
  registerBindTests(use);
  registerBusTests(use);
  registerHangTests(use);
}

function registerScanTest(): void {
  test("board: the scan finds four GK210 with their BARs", () => {
    const found = scanNvidiaGpus("/");
    assert.deepEqual(
      found.map(({ name, vendor, device, driver }) => [name, vendor, device, driver]),
      ALL_DIES.map((die) => [addressOf(die), 0x10de, 0x102d, null]),
    );
    for (const { bars } of found) {
      assert.deepEqual(
        bars.map(({ index, bytes, isAssigned }) => [index, Number(bytes), isAssigned]),
        [
          [0, BAR0_BYTES, true],
          [1, BAR1_BYTES, true],
        ],
      );
    }
  });
}

function registerLoadTests(use: () => BarSwapBoard): void {
  test("board: with all but one blocked, the driver is loaded once and probes one die", async () => {
    const board = use();
    valueOf(await board.acquire(2));
    valueOf(await board.driver.blockAllExcept(2));
    assert.deepEqual(overrides(), [BLOCKED, BLOCKED, UNSET, BLOCKED]);
    valueOf(await board.driver.load());
    assert.ok(board.driver.isLoaded());
    assert.deepEqual(driversOfAll(), [null, null, "nvidia", null]);
    modprobe("nvidia");
    assert.equal(countOf("probes"), 1);
  });

  test("board: a driver that refuses to load is named, and what was written is restored", async () => {
    const board = use();
    valueOf(await board.driver.unbind(2));
    modprobe("-r", "nvidia");
    for (const die of ALL_DIES) writeFileSync(dieFile(die, "driver_override"), "\n");
    writeFileSync("/etc/modprobe.d/holdfast-test.conf", "options nvidia load_errno=-19\n");
    valueOf(await board.driver.blockAllExcept(2));
    failureOf(await board.driver.load(), "refused", /No such device/);
    await board.driver.restore(2);
    assert.deepEqual(overrides(), [UNSET, UNSET, UNSET, UNSET]);
    writeFileSync("/etc/modprobe.d/holdfast-test.conf", "");
    valueOf(await board.driver.blockAllExcept(2));
    valueOf(await board.driver.load());
    assert.deepEqual(driversOfAll(), [null, null, "nvidia", null]);
  });
}

function registerBindTests(use: () => BarSwapBoard): void {
  test("board: a further die is unblocked in the slot, bound, and its link is read again", async () => {
    const board = use();
    failureOf(await board.driver.bind(1), "refused", /not in the slot/);
    valueOf(await board.acquire(1));
    failureOf(await board.driver.bind(1), "refused", /driver_override/);
    valueOf(await board.driver.unblock(1));
    assert.equal(driverOf(1), null);
    valueOf(await board.driver.bind(1));
    assert.ok(board.driver.isBound(1) && board.driver.isBound(2));
    assert.equal(countOf("probes"), 2);
    valueOf(await board.driver.bind(1));
    assert.equal(countOf("probes"), 2, "bound already, it is not bound again");
  });

  test("board: unbind names who has the die open, and works once they have gone", async () => {
    const board = use();
    const information = `/proc/driver/nvidia/gpus/${addressOf(1)}/information`;
    const minor = /Minor:\s+(\d+)/.exec(readFileSync(information, "utf8"))?.[1] ?? "";
    // A grandchild: a child of ours is thought to be a die host.
    const shell = `sleep 600 </dev/nvidia${minor} & echo $!; wait`;
    const child = spawn("sh", ["-c", shell], { stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += String(chunk)));
    await untilTrue(() => said.includes("\n"));
    const pid = Number(said);
    await untilTrue(() => readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n");
    const [holder] = await board.driver.holders(1);
    assert.deepEqual(holder, { pid, command: "sleep", path: `/dev/nvidia${minor}` });
    failureOf(await board.driver.unbind(1), "refused", new RegExp(`pid ${pid} \\(sleep\\)`));
    assert.equal(driverOf(1), "nvidia");
    process.kill(pid, "SIGKILL");
    await kill(child);
    valueOf(await board.driver.unbind(1));
    assert.equal(driverOf(1), null);
    assert.equal(countOf("removes"), 1);
  });

  test("board: a probe that fails gives its errno, and the override is put back", async () => {
    const board = use();
    valueOf(await board.acquire(3));
    setDriver("probe_errno", -5);
    valueOf(await board.driver.unblock(3));
    failureOf(await board.driver.bind(3), "refused", /EIO/);
    await board.driver.restore(3);
    assert.equal(readDieFile(3, "driver_override"), BLOCKED);
    setDriver("probe_errno", 0);
  });

  test("board: somebody else's override is named and left alone", async () => {
    const board = use();
    writeFileSync(dieFile(0, "driver_override"), "vfio-pci");
    failureOf(await board.driver.unblock(0), "refused", /vfio-pci/);
    failureOf(await board.driver.blockAllExcept(3), "refused", /vfio-pci/);
    await board.driver.restore(3);
    assert.deepEqual(overrides(), ["vfio-pci\n", UNSET, UNSET, BLOCKED]);
    writeFileSync(dieFile(0, "driver_override"), "holdfast-blocked");
  });
}

function registerBusTests(use: () => BarSwapBoard): void {
  test("board: removed and found again, a die has lost its override, and is seen to be bound", () => {
    const board = use();
    assert.ok(!board.driver.isBound(3));
    writeFileSync(dieFile(3, "remove"), "1");
    assert.equal(scanNvidiaGpus("/").length, 3);
    writeFileSync("/sys/bus/pci/rescan", "1");
    assert.equal(readDieFile(3, "driver_override"), UNSET);
    assert.ok(board.driver.isBound(3));
  });

  test("board: a die that fell off the bus is told from one that answers, and never bound", async () => {
    const board = use();
    valueOf(await board.acquire(1));
    setBoard("present", ALL_PRESENT & ~2);
    const presences = await Promise.all(ALL_DIES.map((die) => board.presence(die)));
    assert.deepEqual(presences, ["present", "off_bus", "present", "present"]);
    const probes = countOf("probes");
    failureOf(await board.driver.bind(1), "lost", /fell off the bus/);
    assert.equal(countOf("probes"), probes);
    setBoard("present", ALL_PRESENT);
    assert.equal(await board.presence(1), "present");
    valueOf(await board.driver.bind(1));
  });
}

function registerHangTests(use: () => BarSwapBoard): void {
  test("board: a bind that hangs is told to hang, and the board goes on with other dies", async () => {
    const board = use();
    valueOf(await board.driver.unbind(1));
    setDriver("probe_stall", 1);
    const hung = failureOf(await board.driver.bind(1), "hung", /state D/);
    assert.ok(hung.stepPid !== undefined);
    assert.match(readFileSync(`/proc/${hung.stepPid}/stat`, "utf8"), /\) D /);
    // What asks for the same die would hang behind it, and is not even tried.
    const startMs = performance.now();
    failureOf(await board.driver.bind(1), "hung", new RegExp(`pid ${hung.stepPid} still hangs`));
    await board.driver.restore(1);
    assert.ok(performance.now() - startMs < 2000);
    valueOf(await board.acquire(2));
    assert.equal(await board.presence(2), "present");
    setDriver("probe_stall", 0);
    await untilTrue(() => board.driver.isBound(1));
  });
}
