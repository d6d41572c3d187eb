import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceMemory } from "./device-memory.ts";
import { createSpoiler, type SpoiledLaunch } from "./wrong-element.ts";

const memory = new DeviceMemory();

function allocate(bytes: number): { address: number; bytes: number } {
  const allocation = memory.allocate(bytes);
  assert.ok(allocation !== null);
  return allocation;
}

/** A launch whose parameters are these 64-bit values. */
function launchOf(...values: readonly number[]): SpoiledLaunch {
  const block = BigUint64Array.from(values, BigInt);
  return {
    parameters: new Uint8Array(block.buffer),
    addressOffsets: values.map((_, index) => 8 * index),
  };
}

/** The bits of a buffer that are set, and clears them. */
function takeBits({ address, bytes }: { address: number; bytes: number }): number[] {
  const view = memory.bytes.subarray(address, address + bytes);
  const bits: number[] = [];
  for (const [at, byte] of view.entries()) {
    for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) bits.push(8 * at + bit);
  }
  view.fill(0);
  return bits;
}

const [output, input, small] = [allocate(4096), allocate(4096), allocate(1020)];

test("one bit of the first pointer's buffer is flipped, wherever in it the pointer points", () => {
  const spoil = createSpoiler(memory, { kind: "wrong-element", seed: 1 });
  for (const address of [output.address, output.address + 4092]) {
    spoil(launchOf(address, input.address));
    assert.equal(takeBits(output).length, 1);
    assert.deepEqual(takeBits(input), []);
  }
});

test("what is no address of this device is passed over", () => {
  const spoil = createSpoiler(memory, { kind: "wrong-element", seed: 1 });
  spoil(launchOf(7, 2 ** 40, input.address));
  assert.equal(takeBits(input).length, 1);
  spoil(launchOf(0, 12));
  assert.deepEqual([...takeBits(output), ...takeBits(input), ...takeBits(small)], []);
});

test("a small output is spared, and so is what comes after it", () => {
  const spoil = createSpoiler(memory, { kind: "wrong-element", seed: 1 });
  for (let round = 0; round < 20; round++) spoil(launchOf(small.address, input.address));
  assert.deepEqual([...takeBits(small), ...takeBits(input)], []);
});

test("a seed gives its own bits, spread over all words and all places in them", () => {
  const spoiledBits = (seed: number): number[] => {
    const spoil = createSpoiler(memory, { kind: "wrong-element", seed });
    return Array.from({ length: 4000 }, () => {
      spoil(launchOf(output.address));
      return takeBits(output)[0] ?? -1;
    });
  };
  const bits = spoiledBits(5);
  assert.deepEqual(spoiledBits(5), bits);
  assert.notDeepEqual(spoiledBits(6), bits);
  const quarters = [0, 0, 0, 0];
  for (const bit of bits) {
    const quarter = Math.floor(bit / 8192);
    quarters[quarter] = (quarters[quarter] ?? 0) + 1;
  }
  for (const hits of quarters) assert.ok(Math.abs(hits - 1000) < 150, String(quarters));
  assert.equal(new Set(bits.map((bit) => bit % 32)).size, 32);
});
