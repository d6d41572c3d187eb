/**
 * What sysfs does, with no code of Holdfast's in between. What is written here of the kernel is what
 * src/board and the trees of its unit tests take for granted.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import {
  addressOf,
  ALL_PRESENT,
  BAR0_BYTES,
  BAR1_BYTES,
  countOf,
  dieFile,
  DIES,
  DRIVER,
  driverOf,
  driversOfAll,
  modprobe,
  readDieFile,
  resetBoard,
  setBoard,
  setDriver,
} from "./board-module.ts";
import { untilTrue } from "./until.ts";

const writeTo =
  (file: string) =>
  (text: string): void =>
    writeFileSync(file, text);
const bind = writeTo(`${DRIVER}/bind`);
const unbind = writeTo(`${DRIVER}/unbind`);

export function registerSysfsTests(): void {
  after(resetBoard);
  registerDieTests();
  registerOverrideTests();
  registerBindTests();
  registerHangTest();
}

function registerDieTests(): void {
  test("sysfs: four dies are there, with BARs that are assigned", () => {
    for (let die = 0; die < DIES; die++) {
      assert.equal(readDieFile(die, "vendor"), "0x10de\n");
      assert.equal(readDieFile(die, "device"), "0x102d\n");
      assert.equal(readDieFile(die, "class"), "0x030200\n");
      const sizes = readDieFile(die, "resource")
        .split("\n", 2)
        .map((line) => {
          const [start = 0, end = 0] = line.split(" ").map(Number);
          assert.ok(start > 0, "a BAR without an address");
          return end - start + 1;
        });
      assert.deepEqual(sizes, [BAR0_BYTES, BAR1_BYTES]);
    }
  });

  test("sysfs: a die that is off the bus reads all ones, and is shown as before", () => {
    setBoard("present", ALL_PRESENT & ~2);
    assert.equal(readFileSync(dieFile(1, "config")).readUInt32LE(0), 0xffff_ffff);
    assert.equal(readDieFile(1, "vendor"), "0x10de\n");
    assert.equal(readFileSync(dieFile(0, "config")).readUInt32LE(0), 0x102d_10de);
    setBoard("present", ALL_PRESENT);
    assert.equal(readFileSync(dieFile(1, "config")).readUInt32LE(0), 0x102d_10de);
  });
}

function registerOverrideTests(): void {
  test("sysfs: an override is any name, reads (null) unset, and is cleared by a newline alone", () => {
    const file = dieFile(0, "driver_override");
    assert.equal(readDieFile(0, "driver_override"), "(null)\n");
    writeFileSync(file, "of_no_driver");
    assert.equal(readDieFile(0, "driver_override"), "of_no_driver\n");
    writeFileSync(file, "");
    assert.equal(readDieFile(0, "driver_override"), "of_no_driver\n");
    writeFileSync(file, "\n");
    assert.equal(readDieFile(0, "driver_override"), "(null)\n");
    assert.throws(() => writeFileSync(file, "x".repeat(5000)), { code: "EINVAL" });
  });

  test("sysfs: the driver leaves blocked dies alone, and is loaded once", () => {
    for (const die of [0, 1, 3]) writeFileSync(dieFile(die, "driver_override"), "blocked");
    modprobe("nvidia");
    assert.deepEqual(driversOfAll(), [null, null, "nvidia", null]);
    modprobe("nvidia");
    assert.equal(countOf("probes"), 1);
    assert.equal(readFileSync("/sys/module/nvidia/initstate", "utf8"), "live\n");
    assert.throws(() => bind(addressOf(1)), { code: "ENODEV" });
  });
}

function registerBindTests(): void {
  test("sysfs: bind and unbind move the link and the nodes", () => {
    writeFileSync(dieFile(1, "driver_override"), "\n");
    assert.equal(driverOf(1), null, "to clear an override probes nothing");
    bind(addressOf(1));
    assert.deepEqual(driversOfAll(), [null, "nvidia", "nvidia", null]);
    assert.ok(existsSync("/dev/nvidia0") && existsSync("/dev/nvidia1"));
    assert.deepEqual(readdirSync("/proc/driver/nvidia/gpus"), [1, 2].map(addressOf));
    const information = `/proc/driver/nvidia/gpus/${addressOf(1)}/information`;
    assert.match(readFileSync(information, "utf8"), /^Device Minor:\s+1$/m);
    assert.throws(() => bind(addressOf(1)), { code: "EBUSY" });
    unbind(addressOf(1));
    assert.equal(driverOf(1), null);
    assert.ok(!existsSync("/dev/nvidia1"));
    assert.throws(() => unbind(addressOf(1)), { code: "ENODEV" });
    assert.throws(() => bind("1000:00:1f.7"), { code: "ENODEV" });
  });

  test("sysfs: what a probe fails with is what bind fails with", () => {
    setDriver("probe_errno", -5);
    assert.throws(() => bind(addressOf(1)), { code: "EIO" });
    setDriver("probe_errno", 0);
    assert.equal(driverOf(1), null);
  });

  test("sysfs: a die that was removed and found again has lost its override, and is bound", () => {
    const probes = countOf("probes");
    assert.equal(readDieFile(3, "driver_override"), "blocked\n");
    writeFileSync(dieFile(3, "remove"), "1");
    assert.ok(!existsSync(dieFile(3, "")));
    writeFileSync("/sys/bus/pci/rescan", "1");
    assert.equal(readDieFile(3, "driver_override"), "(null)\n");
    assert.equal(driverOf(3), "nvidia");
    assert.equal(countOf("probes"), probes + 1);
  });

  test("sysfs: nothing but the reader keeps a die that is off the bus from being bound", () => {
    setBoard("present", ALL_PRESENT & ~2);
    bind(addressOf(1));
    assert.equal(driverOf(1), "nvidia");
    unbind(addressOf(1));
    setBoard("present", ALL_PRESENT);
  });

  test("sysfs: unloaded and loaded again, the driver takes what is not blocked", () => {
    modprobe("-r", "nvidia");
    assert.deepEqual(driversOfAll(), [null, null, null, null]);
    modprobe("nvidia");
    assert.deepEqual(driversOfAll(), [null, "nvidia", "nvidia", "nvidia"]);
  });
}

function registerHangTest(): void {
  test("sysfs: a bind that hangs outlives SIGKILL, and holds up whoever asks for that die", async () => {
    unbind(addressOf(1));
    setDriver("probe_stall", 1);
    const probes = countOf("probes");
    const writer = spawn("sh", ["-c", `echo ${addressOf(1)} >${DRIVER}/bind`]);
    await untilTrue(() => countOf("probes") > probes);
    await untilStuck(writer.pid);
    writer.kill("SIGKILL");
    const other = spawn("sh", ["-c", `echo >${dieFile(1, "driver_override")}`]);
    await untilStuck(other.pid);
    await untilStuck(writer.pid);
    assert.equal(driverOf(0), null, "other dies can be asked");
    const ends = [once(writer, "close"), once(other, "close")];
    setDriver("probe_stall", 0);
    assert.deepEqual(await ends[0], [null, "SIGKILL"]);
    assert.deepEqual(await ends[1], [0, null]);
    assert.equal(driverOf(1), "nvidia");
  });
}

/** How long a process has to be in state D: who reads a file is so for a moment, too. */
const STUCK_MS = 300;

async function untilStuck(pid = -1): Promise<void> {
  let sinceMs = performance.now();
  await untilTrue(() => {
    if (!/\) D /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) sinceMs = performance.now();
    return performance.now() - sinceMs > STUCK_MS;
  });
}
