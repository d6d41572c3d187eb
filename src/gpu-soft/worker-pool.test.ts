import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceMemory } from "./device-memory.ts";
import { handMadeKernel } from "./hand-made-kernels.ts";
import { WorkerPool, type PoolState } from "./worker-pool.ts";

const kernel = (id: number, name: string): { id: number; module: WebAssembly.Module } => ({
  id,
  module: new WebAssembly.Module(handMadeKernel(name).wasm),
});

async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue(); turn += 1) {
    assert.ok(turn < 5000, "waited too long");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function settled(pool: WorkerPool): Promise<PoolState> {
  let state: PoolState = { kind: "running" };
  await until(() => {
    state = pool.poll();
    return state.kind !== "running";
  });
  return state;
}

/** A pool that is up, with room for scratch areas; closed when the test is over. */
function withPool(
  workers: number,
  body: (pool: WorkerPool, scratch: number, wakes: () => number) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const memory = new DeviceMemory();
    let wakes = 0;
    const pool = new WorkerPool(workers, memory.memory, () => (wakes += 1));
    try {
      await until(() => pool.isReady);
      await body(pool, memory.reserve(workers * 256) ?? 0, () => wakes);
    } finally {
      await pool.close();
    }
  };
}

test(
  "a pool is idle, runs, is done once, and wakes its owner",
  withPool(3, async (pool, scratch, wakes) => {
    assert.deepEqual(pool.poll(), { kind: "idle" });
    const before = wakes();
    pool.begin({ kernel: kernel(1, "add"), blocks: 2, scratch, scratchStride: 256 });
    assert.equal((await settled(pool)).kind, "done");
    assert.equal(pool.poll().kind, "idle");
    await until(() => wakes() > before);
  }),
);

test(
  "a worker that dies is a crash of the pool, told with the reason",
  withPool(2, async (pool) => {
    // The kernel traps, and there is no memory where its fault record should be: the worker itself
    // fails while it reports, and its thread ends with that error.
    const scratch = 2 ** 32 - 256;
    pool.begin({ kernel: kernel(1, "trap"), blocks: 1, scratch, scratchStride: 256 });
    const state = await settled(pool);
    assert.ok(state.kind === "crashed", state.kind);
    assert.match(state.text, /worker 0 ended: .*length/i);
  }),
);

test(
  "a kernel that does not link fails its launch with the engine's words",
  withPool(1, async (pool, scratch) => {
    const strange = Uint8Array.from([
      ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      // Imports the function "a" "b", which nobody offers.
      ...[0x01, 0x04, 0x01, 0x60, 0x00, 0x00],
      ...[0x02, 0x07, 0x01, 0x01, 0x61, 0x01, 0x62, 0x00, 0x00],
    ]);
    const module = new WebAssembly.Module(strange);
    pool.begin({ kernel: { id: 1, module }, blocks: 1, scratch, scratchStride: 256 });
    const state = await settled(pool);
    assert.ok(state.kind === "failed" && state.text !== null);
    assert.match(state.text, /TypeError: WebAssembly\.Instance\(\)/);
  }),
);

test(
  "kernels that are dropped are posted again when they come back under a new id",
  withPool(2, async (pool, scratch) => {
    for (let id = 1; id <= 50; id += 1) {
      pool.begin({ kernel: kernel(id, "add"), blocks: 2, scratch, scratchStride: 256 });
      assert.equal((await settled(pool)).kind, "done");
      pool.drop(id);
    }
  }),
);
