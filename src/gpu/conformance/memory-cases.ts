/** Allocation, copies and fills. */
import assert from "node:assert/strict";
import type { GpuContext } from "../gpu.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { conformanceCase, expectOk, whole } from "./bench.ts";

/** Odd on purpose: around words, cache lines, pages and a mebibyte. */
const SIZES = [1, 3, 4, 127, 128, 129, 4095, 4097, 65_537, 2 ** 20 + 1] as const;

const OFFSETS = [0, 1, 7, 128] as const;

const pattern = (bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, index) => (index * 167 + 13) & 0xff);

/** Copies `bytes` in at `offset` of a larger buffer, and checks them and what is around them. */
async function roundTrip(bench: Bench, bytes: number, offset: number): Promise<void> {
  const buffer = bench.device(bytes + offset + 64);
  const source = bench.host(bytes + 5);
  source.bytes.fill(0xee);
  source.bytes.set(pattern(bytes), 5);
  bench.stream.fill(whole(buffer), 0xaa);
  bench.stream.copyIn({ buffer, offset, bytes }, source, 5);
  const target = bench.host(buffer.bytes + 3);
  target.bytes.fill(0x55);
  bench.stream.copyOut(target, 3, whole(buffer));
  await bench.settle();
  const expected = new Uint8Array(buffer.bytes + 3).fill(0xaa);
  expected.fill(0x55, 0, 3);
  expected.set(pattern(bytes), 3 + offset);
  assert.ok(Buffer.from(expected).equals(target.bytes), `${bytes} bytes at ${offset}`);
}

/** Longer than a page, so that it lies on none of the heap's own. */
const ADOPTED_BYTES = 200_000;

/** Memory that is not the context's own serves copies as its own does, and outlives them. */
async function adoptAndCopy(bench: Bench): Promise<void> {
  const memory = new Uint8Array(ADOPTED_BYTES).fill(0xee);
  const adopted = expectOk(bench.context.adoptHost(memory));
  try {
    assert.equal(adopted.bytes.buffer, memory.buffer);
    const buffer = bench.device(1000);
    memory.set(pattern(700), 4321);
    bench.stream.fill(whole(buffer), 0xaa);
    bench.stream.copyIn({ buffer, offset: 100, bytes: 700 }, adopted, 4321);
    bench.stream.copyOut(adopted, ADOPTED_BYTES - 1000, whole(buffer));
    await bench.settle();
  } finally {
    adopted.free();
  }
  const expected = new Uint8Array(ADOPTED_BYTES).fill(0xee);
  expected.set(pattern(700), 4321);
  expected.fill(0xaa, ADOPTED_BYTES - 1000);
  expected.set(pattern(700), ADOPTED_BYTES - 900);
  assert.ok(Buffer.from(expected).equals(memory));
}

async function fillOnly(bench: Bench, bytes: number, offset: number): Promise<void> {
  const buffer = bench.device(bytes + offset + 64);
  bench.stream.fill(whole(buffer), 0);
  bench.stream.fill({ buffer, offset, bytes }, 0xc3);
  const expected = new Uint8Array(buffer.bytes);
  expected.fill(0xc3, offset, offset + bytes);
  const actual = await bench.download(whole(buffer));
  assert.ok(Buffer.from(expected).equals(actual), `${bytes} bytes at ${offset}`);
}

const BAD_SIZES = [0, -1, 1.5, NaN, Infinity] as const;

function checkBadSizes(allocate: GpuContext["allocate"] | GpuContext["allocateHost"]): void {
  for (const bytes of BAD_SIZES) {
    const refused = allocate(bytes);
    assert.ok(!refused.ok, `${bytes} bytes`);
    assert.equal(refused.error.code, "invalid_value");
    assert.equal(refused.error.driverCode, 1);
  }
}

export const MEMORY_CASES: readonly ConformanceCase[] = [
  conformanceCase("copies move exactly their bytes, at odd sizes and offsets", async (bench) => {
    for (const bytes of SIZES) for (const offset of OFFSETS) await roundTrip(bench, bytes, offset);
  }),
  conformanceCase("fills set exactly their bytes, at odd sizes and offsets", async (bench) => {
    for (const bytes of SIZES) for (const offset of OFFSETS) await fillOnly(bench, bytes, offset);
  }),
  conformanceCase("copies and fills of no bytes change nothing", async (bench) => {
    const buffer = await bench.upload(pattern(64));
    const host = bench.host(16);
    bench.stream.copyIn({ buffer, offset: 8, bytes: 0 }, host, 0);
    bench.stream.copyOut(host, 16, { buffer, offset: 64, bytes: 0 });
    bench.stream.fill({ buffer, offset: 0, bytes: 0 }, 1);
    assert.deepEqual(await bench.download(whole(buffer)), pattern(64));
  }),
  conformanceCase("memory of others is adopted, again and again", async (bench) => {
    for (let round = 0; round < 3; round++) await adoptAndCopy(bench);
  }),
  conformanceCase("memory of no bytes is not adopted", ({ context }) => {
    const refused = context.adoptHost(new Uint8Array(0));
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "invalid_value");
  }),
  conformanceCase("device memory of no size, or none that is a size, is refused", ({ context }) => {
    checkBadSizes(context.allocate);
  }),
  conformanceCase("host memory of no size, or none that is a size, is refused", ({ context }) => {
    checkBadSizes(context.allocateHost);
  }),
  conformanceCase(
    "more memory than the device has is refused, and the context goes on",
    async (bench) => {
      const refused = bench.context.allocate(bench.context.device.memoryBytes + 2 ** 30);
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, "out_of_memory");
      assert.equal(refused.error.driverCode, 2);
      assert.equal(refused.error.errorName, "CUDA_ERROR_OUT_OF_MEMORY");
      await roundTrip(bench, 1000, 0);
    },
  ),
  conformanceCase("freed memory comes back", ({ context }) => {
    const bytes = Math.floor(context.memory().freeBytes * 0.6);
    for (let round = 0; round < 4; round++) expectOk(context.allocate(bytes)).free();
  }),
  conformanceCase("allocations are aligned to 256 bytes and do not overlap", async (bench) => {
    const buffers = Array.from({ length: 50 }, (_, index) => bench.device(1 + index * 37));
    for (const [index, buffer] of buffers.entries()) {
      assert.equal(buffer.address % 256n, 0n);
      bench.stream.fill(whole(buffer), index + 1);
    }
    for (const [index, buffer] of buffers.entries()) {
      const bytes = await bench.download(whole(buffer));
      assert.ok(bytes.every((byte) => byte === index + 1));
    }
  }),
];
