/** The board under lockdown=integrity, which part v2 raises too, and which cannot be lifted. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { dieFile, modprobe, readDieFile } from "./board-module.ts";

const LOCKDOWN = "/sys/kernel/security/lockdown";
const isLocked = (): boolean => readFileSync(LOCKDOWN, "utf8").includes("[integrity]");

if (!isLocked()) writeFileSync(LOCKDOWN, "integrity");

test("lockdown: no module of ours can be loaded, no configuration space written", () => {
  assert.throws(() => modprobe("nvidia"), /not permitted/);
  assert.throws(() => writeFileSync(dieFile(0, "config"), Buffer.alloc(4)), { code: "EPERM" });
});

test("lockdown: overrides can be written, and configuration space read", () => {
  writeFileSync(dieFile(0, "driver_override"), "blocked");
  assert.equal(readDieFile(0, "driver_override"), "blocked\n");
  writeFileSync(dieFile(0, "driver_override"), "\n");
  assert.equal(readFileSync(dieFile(0, "config")).readUInt32LE(0), 0x102d_10de);
});
