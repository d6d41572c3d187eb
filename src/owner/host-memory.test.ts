import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { NATIVE_VIEW_BYTES_MAX, ok } from "../base/mod.ts";
import type { HostBuffer } from "../gpu/mod.ts";
import { PinnedArena, splitAtViews } from "./host-memory.ts";

/** Buffers that only say how long they are: a GiB of bytes would be too slow to make for each. */
function countingHost(): {
  allocate: (bytes: number) => ReturnType<typeof ok<HostBuffer>>;
  live: number[];
} {
  const live: number[] = [];
  return {
    live,
    allocate: (bytes) => {
      live.push(bytes);
      const view = {
        length: bytes,
        subarray: (start: number, end: number) => ({ length: end - start }),
      };
      return ok({
        bytes: view as unknown as Uint8Array,
        free: () => void live.splice(live.indexOf(bytes), 1),
      });
    },
  };
}

const GIB = NATIVE_VIEW_BYTES_MAX;

test("an arena serves jobs of one size from one allocation, and grows in steps", () => {
  const { allocate, live } = countingHost();
  const arena = new PinnedArena(allocate);
  for (const bytes of [1, 100, 64 * 1024]) assert.ok(arena.reserve(bytes).ok);
  assert.deepEqual(live, [64 * 1024]);
  assert.ok(arena.reserve(64 * 1024 + 1).ok);
  assert.deepEqual(live, [128 * 1024]);
  assert.ok(arena.reserve(2 ** 26 + 1).ok);
  assert.deepEqual(live, [2 ** 27]);
  assert.ok(arena.reserve(2 ** 27 + 1).ok);
  assert.deepEqual(live, [3 * 2 ** 26]);
});

test("an arena of more than a view lies in several, and gives back all but the first", () => {
  const { allocate, live } = countingHost();
  const arena = new PinnedArena(allocate);
  assert.ok(arena.reserve(2 * GIB).ok);
  assert.deepEqual(live, [GIB, GIB]);
  const pieces = arena.pieces(GIB - 4, 12);
  assert.deepEqual(
    pieces.map(({ bytes, pinned }) => [bytes.length, pinned?.offset]),
    [
      [4, GIB - 4],
      [8, 0],
    ],
  );
  arena.trim();
  assert.deepEqual(live, [GIB]);
  assert.throws(() => arena.pieces(GIB - 4, 12), RangeError);
});

test("what is refused leaves an arena that works for smaller jobs", () => {
  const { allocate } = countingHost();
  const refusal = {
    code: "out_of_memory",
    driverCode: 2,
    errorName: "CUDA_ERROR_OUT_OF_MEMORY",
    call: "cuMemAllocHost",
    message: "no",
  } as const;
  const arena = new PinnedArena((bytes) =>
    bytes > 2 ** 20 ? { ok: false, error: refusal } : allocate(bytes),
  );
  assert.equal(arena.reserve(2 ** 20 + 1).ok, false);
  assert.equal(arena.reserve(2 ** 20).ok, true);
  assert.equal(arena.pieces(0, 2 ** 20).length, 1);
});

test("property: the parts of a range lie end to end, each in one view", () => {
  fc.assert(
    fc.property(fc.nat(4 * GIB), fc.nat(3 * GIB), (offset, bytes) => {
      let next = offset;
      for (const { view, at, count } of splitAtViews(offset, bytes)) {
        assert.equal(view * GIB + at, next);
        assert.ok(count > 0 && at + count <= GIB);
        next += count;
      }
      assert.equal(next, offset + bytes);
    }),
  );
});
