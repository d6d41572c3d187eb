import assert from "node:assert/strict";
import { test } from "node:test";
import { FAULT_NAMES_MAX, FAULT_REPEAT_MS, FaultCounts } from "./fault-counts.ts";

test("the same line within a few seconds is one fault, another or a later one is two", () => {
  const faults = new FaultCounts();
  assert.equal(faults.add("xid 79", "a", 0), true);
  assert.equal(faults.add("xid 79", "a", FAULT_REPEAT_MS - 1), false);
  assert.equal(faults.add("xid 79", "b", FAULT_REPEAT_MS - 1), true);
  assert.equal(faults.add("xid 79", "b", 2 * FAULT_REPEAT_MS), true);
  assert.equal(faults.add("off_bus", "a", 2 * FAULT_REPEAT_MS), true);
  assert.deepEqual(faults.list(), [
    { name: "off_bus", count: 1, text: "a", atMs: 2 * FAULT_REPEAT_MS },
    { name: "xid 79", count: 3, text: "b", atMs: 2 * FAULT_REPEAT_MS },
  ]);
});

test("a line that comes on and on is counted once each while", () => {
  const faults = new FaultCounts();
  for (let atMs = 0; atMs < 4 * FAULT_REPEAT_MS; atMs += 100) faults.add("xid 31", "same", atMs);
  assert.equal(faults.list()[0]?.count, 4);
});

test("the number of names is bounded, and what was seen last stays", () => {
  const faults = new FaultCounts();
  for (let at = 0; at < 3 * FAULT_NAMES_MAX; at++) faults.add(`xid ${String(at)}`, "x", at);
  const names = faults.list().map(({ name }) => name);
  assert.equal(names.length, FAULT_NAMES_MAX);
  assert.equal(names[0], `xid ${String(3 * FAULT_NAMES_MAX - 1)}`);
});
