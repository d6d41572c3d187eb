import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { err, ok } from "../base/mod.ts";
import type { DeviceBuffer, DeviceInfo, GpuRefusal } from "../gpu/mod.ts";
import { BufferShelf } from "./buffer-shelf.ts";

const MIB = 2 ** 20;

const outOfMemory: GpuRefusal = {
  code: "out_of_memory",
  driverCode: 2,
  errorName: "CUDA_ERROR_OUT_OF_MEMORY",
  call: "cuMemAlloc",
  message: "full",
};

/** A device of that size, and what of it is given out. */
class FakeDevice {
  readonly device: DeviceInfo;
  readonly live = new Set<DeviceBuffer>();
  allocations = 0;

  constructor(memoryBytes: number) {
    this.device = { memoryBytes } as DeviceInfo;
  }

  get usedBytes(): number {
    return [...this.live].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  allocate = (bytes: number): ReturnType<BufferShelf["take"]> => {
    if (this.usedBytes + bytes > this.device.memoryBytes) return err(outOfMemory);
    this.allocations += 1;
    const buffer: DeviceBuffer = {
      address: BigInt(this.allocations),
      bytes,
      free: () => assert.ok(this.live.delete(buffer), "a buffer is freed once"),
    };
    this.live.add(buffer);
    return ok(buffer);
  };
}

function taken(shelf: BufferShelf, bytes: number): DeviceBuffer {
  const buffer = shelf.take(bytes);
  assert.ok(buffer.ok);
  return buffer.value;
}

test("a job of the same sizes allocates nothing", () => {
  const device = new FakeDevice(1024 * MIB);
  const shelf = new BufferShelf(device);
  for (let round = 0; round < 5; round++) {
    for (const buffer of [MIB, MIB, 2 * MIB].map((bytes) => taken(shelf, bytes)))
      shelf.give(buffer);
  }
  assert.equal(device.allocations, 3);
});

test("a buffer of another size is not handed out", () => {
  const shelf = new BufferShelf(new FakeDevice(1024 * MIB));
  shelf.give(taken(shelf, MIB));
  assert.equal(taken(shelf, MIB - 1).bytes, MIB - 1);
  assert.equal(taken(shelf, MIB + 1).bytes, MIB + 1);
});

test("what is kept is given up before the device is said to be full", () => {
  const device = new FakeDevice(160 * MIB);
  const shelf = new BufferShelf(device);
  shelf.give(taken(shelf, 10 * MIB));
  assert.equal(device.usedBytes, 10 * MIB);
  const large = taken(shelf, 155 * MIB);
  assert.equal(device.usedBytes, 155 * MIB);
  assert.equal(shelf.take(10 * MIB).ok, false, "the control: then it is full");
  large.free();
  assert.equal(taken(shelf, 10 * MIB).bytes, 10 * MIB);
});

test("property: what is kept is bounded, and no buffer is in two hands", () => {
  const sizes = fc.constantFrom(4, 1000, MIB, 3 * MIB, 20 * MIB);
  fc.assert(
    fc.property(fc.array(fc.array(sizes, { maxLength: 12 }), { maxLength: 20 }), (jobs) => {
      const device = new FakeDevice(512 * MIB);
      const shelf = new BufferShelf(device);
      for (const job of jobs) {
        const buffers = job.map((bytes) => taken(shelf, bytes));
        assert.equal(new Set(buffers).size, job.length);
        for (const buffer of buffers) assert.ok(device.live.has(buffer));
        for (const buffer of buffers) shelf.give(buffer);
        assert.ok(device.usedBytes <= 32 * MIB, `${device.usedBytes} bytes are kept`);
        assert.ok(device.live.size <= 256);
      }
      shelf.clear();
      assert.equal(device.live.size, 0);
    }),
  );
});

test("many small buffers are not kept without end", () => {
  const device = new FakeDevice(1024 * MIB);
  const shelf = new BufferShelf(device);
  const buffers = Array.from({ length: 300 }, () => taken(shelf, 4));
  for (const buffer of buffers) shelf.give(buffer);
  assert.equal(device.live.size, 256);
});
