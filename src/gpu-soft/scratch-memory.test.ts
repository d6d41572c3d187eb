import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceMemory } from "./device-memory.ts";
import { HEAP_END, HEAP_START } from "./address-map.ts";
import { ScratchMemory } from "./scratch-memory.ts";

test("scratch areas are kept, grow, and the old ones are released when told so", () => {
  const memory = new DeviceMemory();
  const releases: (() => void)[] = [];
  const scratch = new ScratchMemory(memory, 3, (release) => releases.push(release));
  const small = scratch.areas(1000);
  assert.ok(small !== null && small.strideBytes === 1024 && small.address % 64 === 0);
  assert.equal(scratch.areas(1024), small);
  assert.equal(scratch.areas(1), small);
  const large = scratch.areas(1025);
  assert.ok(large !== null && large.strideBytes === 1280);
  assert.equal(releases.length, 1);
  // A queued launch may still use the small ones, so nothing else may lie there yet.
  assert.notEqual(memory.reserve(3 * 1024), small.address);
  releases[0]?.();
  assert.equal(memory.reserve(3 * 1024), small.address);
});

test("areas that the address space does not hold are refused, and the present ones stay", () => {
  const scratch = new ScratchMemory(new DeviceMemory(), 4, () => {
    throw new Error("nothing is to be released");
  });
  const areas = scratch.areas(4096);
  assert.equal(scratch.areas((HEAP_END - HEAP_START) / 2), null);
  assert.equal(scratch.areas(4096), areas);
});
