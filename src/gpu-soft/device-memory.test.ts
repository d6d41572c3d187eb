import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GRANULE_BYTES } from "../ptx/mod.ts";
import { GRANULES_ADDRESS, HEAP_END, HEAP_START, PAGE_BYTES } from "./address-map.ts";
import { DeviceMemory, type Allocation } from "./device-memory.ts";

type Step =
  | { readonly kind: "allocate"; readonly bytes: number }
  | { readonly kind: "reserve"; readonly bytes: number }
  | { readonly kind: "free"; readonly pick: number };

const bytes = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 100_000 }));

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("allocate" as const), bytes }),
  fc.record({ kind: fc.constant("reserve" as const), bytes }),
  fc.record({ kind: fc.constant("free" as const), pick: fc.nat() }),
);

/** How far the heap of a property's run reaches, at most. */
const REACH_BYTES = 16 * 1024 * 1024;

/** The part of the granule table that a run may have touched. */
function table(memory: DeviceMemory): Uint8Array {
  const first = GRANULES_ADDRESS + HEAP_START / GRANULE_BYTES;
  return memory.bytes.slice(first, first + REACH_BYTES / GRANULE_BYTES);
}

/** The same, from nothing but the list of live allocations. */
function expectedTable(live: readonly Allocation[]): Uint8Array {
  const expected = new Uint8Array(REACH_BYTES / GRANULE_BYTES);
  for (const allocation of live) {
    for (let offset = 0; offset < allocation.bytes; offset += GRANULE_BYTES) {
      const granule = (allocation.address - HEAP_START + offset) / GRANULE_BYTES;
      expected[granule] = Math.min(GRANULE_BYTES, allocation.bytes - offset);
    }
  }
  return expected;
}

test("the granule table says of every byte whether it is allocated, whatever happens", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = new DeviceMemory();
      const live: Allocation[] = [];
      const reserved: number[] = [];
      for (const each of steps) {
        if (each.kind === "allocate") {
          const allocation = memory.allocate(each.bytes);
          assert.ok(allocation !== null);
          assert.equal(allocation.address % 256, 0);
          const { address } = allocation;
          assert.ok(memory.bytes.subarray(address, address + each.bytes).every((b) => b === 0));
          memory.fill(address, each.bytes, 0xee);
          live.push(allocation);
        } else if (each.kind === "reserve") {
          reserved.push(memory.reserve(each.bytes) ?? assert.fail("no room"));
        } else if (each.pick % 3 === 0 && reserved.length > 0) {
          for (const address of reserved.splice(each.pick % reserved.length, 1)) {
            memory.release(address);
          }
        } else if (live.length > 0) {
          for (const allocation of live.splice(each.pick % live.length, 1)) memory.free(allocation);
        }
        assert.ok(Buffer.from(table(memory)).equals(expectedTable(live)));
      }
      for (const allocation of live) memory.free(allocation);
      for (const address of reserved) memory.release(address);
      assert.equal(memory.largestFreeBytes(), HEAP_END - HEAP_START);
    }),
    { numRuns: 60 },
  );
});

test("a memory that is reset is as good as new, and shows nothing of its past", () => {
  const memory = new DeviceMemory();
  const before = memory.allocate(5000);
  const scratch = memory.reserve(5000);
  assert.ok(before !== null && scratch !== null);
  memory.fill(before.address, 5000, 0xee);
  memory.fill(scratch, 5000, 0xee);
  memory.reset();
  assert.ok(table(memory).every((valid) => valid === 0));
  const after = memory.allocate(20_000);
  assert.equal(after?.address, before.address);
  assert.ok(memory.bytes.subarray(before.address, before.address + 20_000).every((b) => b === 0));
});

test("memory grows as it is handed out, and refuses what the address space does not hold", () => {
  const memory = new DeviceMemory();
  assert.equal(memory.bytes.length, HEAP_START);
  const first = memory.allocate(100);
  assert.equal(first?.address, HEAP_START);
  const small = memory.bytes.length;
  assert.ok(small < HEAP_START + 64 * 1024 * 1024);
  const second = memory.allocate(200 * 1024 * 1024);
  assert.ok(second !== null && memory.bytes.length >= second.address + second.bytes);
  assert.equal(memory.allocate(2 ** 32), null);
  assert.equal(memory.bytes.length % PAGE_BYTES, 0);
});

test("an allocation can reach to the end of the heap, and is in the table to its last byte", () => {
  const memory = new DeviceMemory();
  const whole = memory.allocate(HEAP_END - HEAP_START - 100);
  assert.equal(whole?.address, HEAP_START);
  const last = GRANULES_ADDRESS + HEAP_END / GRANULE_BYTES - 1;
  assert.deepEqual([...memory.bytes.subarray(last - 1, last + 2)], [128, 28, 0]);
});

test("a message about an address knows the allocation before it", () => {
  const memory = new DeviceMemory();
  const [low, high] = [memory.allocate(1000), memory.allocate(1000)];
  assert.ok(low !== null && high !== null);
  assert.equal(memory.nearestBelow(low.address - 1), null);
  assert.deepEqual(memory.nearestBelow(low.address + 1020), low);
  assert.deepEqual(memory.nearestBelow(2 ** 32), high);
});
