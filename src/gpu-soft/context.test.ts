import assert from "node:assert/strict";
import { test } from "node:test";
import { waitUntilIdle, waitUntilReached, type Dim3 } from "../gpu/mod.ts";
import {
  handMade,
  launchOf,
  MIB,
  openGpu,
  readWords,
  unwrap,
  withContext,
} from "./test-support.ts";

for (const workers of [1, 2, 5]) {
  test(
    `a launch runs each thread of each block once (${workers} workers)`,
    withContext(async (context) => {
      const grid: Dim3 = [5, 3, 7];
      const block: Dim3 = [4, 3, 2];
      const count = 5 * 3 * 7 * 4 * 3 * 2;
      const buffer = unwrap(context.allocate(count * 4));
      const stream = context.createStream();
      const launch = launchOf(handMade(context, "add"), {
        address: buffer.address,
        value: 3,
        grid,
        block,
      });
      unwrap(stream.launch(launch));
      unwrap(stream.launch(launch));
      assert.equal(await waitUntilIdle(stream, { timeoutMs: 10_000 }), "done");
      assert.deepEqual(await readWords(context, buffer), new Uint32Array(count).fill(6));
    }, workers),
  );
}

for (const workers of [1, 3]) {
  test(
    `blocks are taken in order, each once (${workers} workers)`,
    withContext(async (context) => {
      const blocks = 1000;
      const buffer = unwrap(context.allocate((blocks + 1) * 4));
      const stream = context.createStream();
      const order = handMade(context, "order");
      unwrap(stream.launch(launchOf(order, { address: buffer.address, grid: [blocks, 1, 1] })));
      await waitUntilIdle(stream);
      const [count, ...turns] = await readWords(context, buffer);
      assert.equal(count, blocks);
      // Several workers run side by side, so only one alone shows the order itself.
      if (workers > 1) turns.sort((left, right) => left - right);
      assert.deepEqual(turns, [...turns.keys()]);
    }, workers),
  );
}

test(
  "a stream does its work in order, copies and launches alike",
  withContext(async (context) => {
    const buffer = unwrap(context.allocate(256));
    const stream = context.createStream();
    const range = { buffer, offset: 0, bytes: 256 };
    const source = unwrap(context.allocateHost(256));
    const target = unwrap(context.allocateHost(256));
    new Uint32Array(source.bytes.buffer).fill(10);
    const add = launchOf(handMade(context, "add"), { address: buffer.address, value: 1 });
    stream.fill(range, 0xff);
    stream.copyIn(range, source, 0);
    unwrap(stream.launch(add));
    unwrap(stream.launch(add));
    stream.copyOut(target, 0, range);
    stream.fill(range, 0);
    await waitUntilIdle(stream);
    assert.deepEqual(new Uint32Array(target.bytes.buffer), new Uint32Array(64).fill(12));
    assert.deepEqual(await readWords(context, buffer), new Uint32Array(64));
  }),
);

test(
  "queued work goes on though nobody asks",
  withContext(async (context) => {
    const buffer = unwrap(context.allocate(256));
    const stream = context.createStream();
    const target = unwrap(context.allocateHost(256));
    const add = launchOf(handMade(context, "add"), { address: buffer.address, value: 1 });
    for (let index = 0; index < 50; index += 1) unwrap(stream.launch(add));
    stream.copyOut(target, 0, { buffer, offset: 0, bytes: 256 });
    // Looks at the copy's target only; no call into the context.
    for (let turn = 0; turn < 2000 && target.bytes[0] !== 50; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(target.bytes[0], 50);
  }),
);

test(
  "events tell that a stream has come so far, and how long a kernel took",
  withContext(async (context) => {
    const buffer = unwrap(context.allocate(256));
    const [stream, other] = [context.createStream(), context.createStream()];
    const start = context.createEvent();
    const end = context.createEvent();
    const aside = context.createEvent();
    assert.equal(start.isReached(), true);
    const kernel = handMade(context, "slow");
    const slow = (value: number): void => {
      unwrap(stream.launch(launchOf(kernel, { address: buffer.address, value })));
    };
    stream.record(start);
    slow(30_000_000);
    stream.record(end);
    other.record(aside);
    assert.equal(aside.isReached(), true);
    assert.equal(end.isReached(), false);
    await waitUntilReached(end);
    const longNs = end.elapsedNs(start);
    stream.record(start);
    slow(30_000);
    stream.record(end);
    await waitUntilReached(end);
    const shortNs = end.elapsedNs(start);
    assert.ok(shortNs > 0 && longNs > 5 * shortNs, `${longNs} ns against ${shortNs} ns`);
  }),
);

test(
  "a buffer freed while a launch is queued lives until the launch is done",
  withContext(async (context) => {
    const slow = handMade(context, "slow");
    const before = context.memory().freeBytes;
    const [used, witness] = [unwrap(context.allocate(256)), unwrap(context.allocate(256))];
    const stream = context.createStream();
    const value = 20_000_000;
    unwrap(stream.launch(launchOf(slow, { address: witness.address, value })));
    unwrap(stream.launch(launchOf(slow, { address: used.address, value })));
    used.free();
    witness.free();
    assert.ok(context.memory().freeBytes < before);
    await waitUntilIdle(stream);
    assert.equal(context.memory().freeBytes, before);
    assert.throws(() => {
      used.free();
    }, /freed once/);
  }),
);

test(
  "a module's data is in device memory, with its addresses made absolute, until it is unloaded",
  withContext(async (context) => {
    const before = context.memory().freeBytes;
    const module = unwrap(context.loadModule("", "second.ptx"));
    assert.equal(context.memory().freeBytes, before - 256);
    const buffer = unwrap(context.allocate(4));
    const stream = context.createStream();
    unwrap(stream.launch(launchOf(unwrap(module.kernel("data")), { address: buffer.address })));
    await waitUntilIdle(stream);
    assert.equal((await readWords(context, buffer))[0], 0x12345678);
    module.unload();
    buffer.free();
    assert.equal(context.memory().freeBytes, before);
    assert.throws(() => module.kernel("data"), /still loaded/);
  }),
);

type Refused = { readonly name: string; readonly code: string; readonly change: object };

const REFUSED: readonly Refused[] = [
  { name: "an empty grid", code: "invalid_value", change: { grid: [0, 1, 1] } },
  { name: "a fractional grid", code: "invalid_value", change: { grid: [1.5, 1, 1] } },
  { name: "a grid past x", code: "invalid_value", change: { grid: [2 ** 31, 1, 1] } },
  { name: "a grid past y", code: "invalid_value", change: { grid: [1, 65_536, 1] } },
  { name: "2^32 blocks", code: "invalid_value", change: { grid: [65_536, 65_535, 2] } },
  { name: "an empty block", code: "invalid_value", change: { block: [1, 1, 0] } },
  { name: "a block past z", code: "invalid_value", change: { block: [1, 1, 65] } },
  { name: "a block of 1056 threads", code: "invalid_value", change: { block: [33, 32, 1] } },
  { name: "more than .maxntid", code: "too_many_resources", change: { block: [513, 1, 1] } },
  { name: "negative shared memory", code: "invalid_value", change: { sharedBytes: -1 } },
  {
    name: "too much shared memory",
    code: "invalid_value",
    change: { sharedBytes: 227 * 1024 + 1 },
  },
  {
    name: "a short parameter block",
    code: "invalid_value",
    change: { parameters: new Uint8Array(8) },
  },
];

test(
  "launches that no GPU would take are refused, and harm nothing",
  withContext(async (context) => {
    const buffer = unwrap(context.allocate(4 * 512));
    const stream = context.createStream();
    const right = launchOf(handMade(context, "add"), {
      address: buffer.address,
      value: 1,
      block: [512, 1, 1],
    });
    for (const { name, code, change } of REFUSED) {
      const result = stream.launch({ ...right, ...change });
      assert.ok(!result.ok, name);
      assert.equal(result.error.code, code, name);
      assert.equal(result.error.call, "cuLaunchKernel");
    }
    unwrap(stream.launch({ ...right, sharedBytes: 227 * 1024 }));
    await waitUntilIdle(stream);
    assert.deepEqual(await readWords(context, buffer), new Uint32Array(512).fill(1));
  }),
);

test(
  "what is not there is refused by name",
  withContext(async (context) => {
    const ptx = context.loadModule("refused", "bad.ptx");
    assert.ok(!ptx.ok && ptx.error.message.startsWith("bad.ptx:1:1"));
    const kernel = unwrap(context.loadModule("", "m.ptx")).kernel("absent");
    assert.ok(!kernel.ok && kernel.error.code === "kernel_not_found");
    for (const bytes of [0, -1, 1.5, Number.NaN]) {
      const result = context.allocate(bytes);
      assert.ok(!result.ok && result.error.code === "invalid_value");
    }
    const large = context.allocate(65 * MIB);
    assert.ok(!large.ok && large.error.code === "out_of_memory");
    assert.match(large.error.message, /in one piece/);
    await Promise.resolve();
  }),
);

test("contexts of one device share its memory; devices do not", () => {
  const gpu = openGpu(1, 2);
  const [first, second] = [unwrap(gpu.openContext(0)), unwrap(gpu.openContext(0))];
  const elsewhere = unwrap(gpu.openContext(1));
  unwrap(first.allocate(40 * MIB));
  assert.equal(second.allocate(40 * MIB).ok, false);
  assert.equal(elsewhere.allocate(40 * MIB).ok, true);
  first.close();
  assert.equal(second.allocate(40 * MIB).ok, true);
  for (const context of [second, elsewhere]) context.close();
  assert.equal(gpu.openContext(2).ok, false);
});

test(
  "memory that is handed out again is zero",
  withContext(async (context) => {
    const stream = context.createStream();
    for (let round = 0; round < 3; round += 1) {
      const buffer = unwrap(context.allocate(1000));
      assert.deepEqual(await readWords(context, buffer), new Uint32Array(250));
      stream.fill({ buffer, offset: 0, bytes: 1000 }, 0xab);
      buffer.free();
    }
  }),
);

test(
  "a range outside its buffer is a bug, and one that ends with it is not",
  withContext(async (context) => {
    const buffer = unwrap(context.allocate(100));
    const stream = context.createStream();
    stream.fill({ buffer, offset: 90, bytes: 10 }, 1);
    for (const [offset, bytes] of [
      [90, 11],
      [-1, 5],
      [0.5, 1],
    ] as const) {
      assert.throws(() => {
        stream.fill({ buffer, offset, bytes }, 1);
      }, /invariant violated/);
    }
    await Promise.resolve();
  }),
);

test(
  "host memory and device memory stay flat over thousands of launches and allocations",
  withContext(async (context) => {
    const stream = context.createStream();
    const add = handMade(context, "add");
    const before = context.memory().freeBytes;
    const cycle = async (): Promise<void> => {
      const buffer = unwrap(context.allocate(4096));
      const module = unwrap(context.loadModule("", "cycle.ptx"));
      const once = launchOf(unwrap(module.kernel("add")), { address: buffer.address, value: 1 });
      unwrap(stream.launch(once));
      for (let index = 0; index < 20; index += 1) {
        unwrap(stream.launch(launchOf(add, { address: buffer.address, value: 1 })));
      }
      await waitUntilIdle(stream);
      module.unload();
      buffer.free();
    };
    const measure = async (cycles: number): Promise<number> => {
      for (let index = 0; index < cycles; index += 1) await cycle();
      return process.memoryUsage().rss;
    };
    const early = await measure(50);
    const late = await measure(100);
    assert.equal(context.memory().freeBytes, before);
    assert.ok(late - early < 64 * MIB, `grew by ${(late - early) / MIB} MiB`);
  }),
);

test("opening and closing contexts uses the same memory again", async () => {
  const gpu = openGpu(1);
  const rssOf = async (rounds: number): Promise<number> => {
    for (let round = 0; round < rounds; round += 1) {
      const context = unwrap(gpu.openContext(0));
      const stream = context.createStream();
      const buffer = unwrap(context.allocate(32 * MIB));
      stream.fill({ buffer, offset: 0, bytes: buffer.bytes }, round);
      await waitUntilIdle(stream);
      context.close();
      // Memory goes back once the workers are gone, which the event loop has to see.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return process.memoryUsage().rss;
  };
  const early = await rssOf(5);
  assert.ok((await rssOf(20)) - early < 10 * 32 * MIB);
});

test(
  "a copy of many slices is whole, and the event loop runs in between",
  withContext(async (context) => {
    const bytes = 50 * MIB + 3;
    const stream = context.createStream();
    const buffer = unwrap(context.allocate(bytes));
    const [source, target] = [bytes, bytes].map((size) => unwrap(context.allocateHost(size)));
    assert.ok(source !== undefined && target !== undefined);
    for (let index = 0; index < bytes; index += 4093) source.bytes[index] = index % 251;
    stream.copyIn({ buffer, offset: 0, bytes }, source, 0);
    stream.copyOut(target, 0, { buffer, offset: 0, bytes });
    assert.equal(stream.isIdle(), false);
    let turns = 0;
    while (!stream.isIdle()) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    assert.ok(turns >= 1);
    assert.ok(Buffer.from(source.bytes.buffer).equals(target.bytes));
  }),
);

test(
  "a launch whose scratch memory does not fit is refused, and the next one is not",
  withContext(async (context) => {
    const module = unwrap(context.loadModule("", "hand-made.ptx"));
    const stream = context.createStream();
    // 512 KiB of local memory for each of 512 threads, for each of 16 workers: 4 GiB.
    const large = stream.launch(launchOf(unwrap(module.kernel("local")), { block: [512, 1, 1] }));
    assert.ok(!large.ok && large.error.code === "out_of_memory");
    assert.match(large.error.message, /268435\d+ bytes for each worker/);
    unwrap(stream.launch(launchOf(unwrap(module.kernel("local")), { block: [1, 1, 1] })));
    await waitUntilIdle(stream);
  }, 16),
);
