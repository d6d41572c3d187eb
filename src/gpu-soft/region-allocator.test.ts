import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BLOCK_BYTES, RegionAllocator, type Region } from "./region-allocator.ts";

const START = 64 * 1024;
const BYTES = 4 * 1024 * 1024;

const fresh = (): RegionAllocator => new RegionAllocator(START, START + BYTES);

/** What must hold at any time: regions lie apart, aligned, inside, and the free bytes add up. */
function checkApart(allocator: RegionAllocator): void {
  const live = [...allocator.live()].sort((left, right) => left.address - right.address);
  let end = START;
  let taken = 0;
  for (const region of live) {
    assert.equal(region.address % BLOCK_BYTES, 0);
    assert.ok(region.address >= end, `region at ${region.address} overlaps the one below it`);
    end = region.address + region.bytes;
    taken += region.bytes;
  }
  assert.ok(end <= START + BYTES);
  assert.equal(allocator.freeBytes, BYTES - taken);
}

/** The longest run of addresses between live regions: what the model says is the largest. */
function largestGap(allocator: RegionAllocator): number {
  const live = [...allocator.live()].sort((left, right) => left.address - right.address);
  let end = START;
  let gap = 0;
  for (const region of [...live, { address: START + BYTES, bytes: 0 }]) {
    gap = Math.max(gap, region.address - end);
    end = region.address + region.bytes;
  }
  return gap;
}

type Step = { readonly kind: "take"; readonly bytes: number } | ({ readonly kind: "give" } & Pick);
type Pick = { readonly pick: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("take" as const),
    bytes: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: BYTES })),
  }),
  fc.record({ kind: fc.constant("give" as const), pick: fc.nat() }),
);

test("take and give keep regions apart, and giving all back leaves one free block", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const allocator = fresh();
      const held: Region[] = [];
      for (const each of steps) {
        if (each.kind === "give") {
          const [region] = held.length === 0 ? [] : held.splice(each.pick % held.length, 1);
          if (region !== undefined) allocator.give(region.address);
        } else {
          const gap = largestGap(allocator);
          const region = allocator.take(each.bytes);
          // A request that fits into some gap is never turned down.
          assert.equal(region !== null, Math.ceil(each.bytes / BLOCK_BYTES) * BLOCK_BYTES <= gap);
          if (region !== null) held.push(region);
        }
        checkApart(allocator);
        assert.equal(allocator.largestFreeBytes(), largestGap(allocator));
      }
      for (const region of held) allocator.give(region.address);
      assert.equal(allocator.liveCount, 0);
      assert.equal(allocator.largestFreeBytes(), BYTES);
    }),
    { numRuns: 200 },
  );
});

test("the whole region can be taken as one, and then nothing more", () => {
  const allocator = fresh();
  assert.deepEqual(allocator.take(BYTES), { address: START, bytes: BYTES });
  assert.equal(allocator.take(1), null);
  assert.equal(allocator.largestFreeBytes(), 0);
  allocator.give(START);
  assert.equal(allocator.take(BYTES + 1), null);
});

test("a region given back twice is a bug, and the first time is not", () => {
  const allocator = fresh();
  const region = allocator.take(1000);
  assert.ok(region !== null);
  allocator.give(region.address);
  assert.throws(() => {
    allocator.give(region.address);
  }, /no live region/);
});

test("a region of 4 GiB divides to its last block", () => {
  const allocator = new RegionAllocator(0, 2 ** 32);
  assert.deepEqual(allocator.take(2 ** 32 - BLOCK_BYTES), {
    address: 0,
    bytes: 2 ** 32 - BLOCK_BYTES,
  });
  assert.deepEqual(allocator.take(1), { address: 2 ** 32 - BLOCK_BYTES, bytes: BLOCK_BYTES });
  assert.equal(allocator.take(1), null);
});
