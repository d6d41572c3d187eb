/** Order on a stream, several streams, events. */
import assert from "node:assert/strict";
import { catalogueKernel, launchShape } from "../catalogue.ts";
import { referenceSlowAdd } from "../reference.ts";
import { seedPattern } from "../pattern.ts";
import { compareF32 } from "../verify.ts";
import { waitUntilReached } from "../wait.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { asF32, conformanceCase, whole } from "./bench.ts";

const ELEMENTS = 10_000;
const ITERATIONS = 50;

const slowAdd = catalogueKernel("slow_add");
const shape = launchShape(slowAdd, ELEMENTS);

const slowAddArguments = (out: Parameters<typeof whole>[0], input: typeof out) =>
  [
    { buffer: out },
    { buffer: input },
    { type: "u32", value: ELEMENTS },
    { type: "u32", value: ITERATIONS },
  ] as const;

export const STREAM_CASES: readonly ConformanceCase[] = [
  conformanceCase("a stream with nothing queued is idle", (bench) => {
    assert.equal(bench.createStream().isIdle(), true);
  }),
  conformanceCase("a stream does its work in order, without waits in between", async (bench) => {
    const module = bench.load(bench.session.kernelsPtx, "base.ptx");
    const input = seedPattern(3, ELEMENTS);
    const [a, b] = [await bench.upload(input), bench.device(input.byteLength)];
    bench.stream.fill(whole(b), 0xff);
    for (const [out, from] of [
      [b, a],
      [a, b],
      [b, a],
    ] as const) {
      bench.launch(module, "slow_add", slowAddArguments(out, from), shape);
    }
    const target = bench.host(input.byteLength);
    bench.stream.copyOut(target, 0, whole(b));
    bench.stream.fill(whole(b), 0);
    await bench.settle();
    const expected = referenceSlowAdd(input, 3 * ITERATIONS);
    assert.equal(compareF32(expected, asF32(target.bytes)).bad, 0);
  }),
  conformanceCase("two streams work side by side", twoStreams),
  conformanceCase("an event is reached when what was queued before it is done", async (bench) => {
    const buffer = bench.device(4096);
    const host = bench.host(4096);
    const event = bench.createEvent();
    bench.stream.fill(whole(buffer), 9);
    bench.stream.copyOut(host, 0, whole(buffer));
    bench.stream.record(event);
    assert.equal(await waitUntilReached(event, { timeoutMs: 60_000 }), "done");
    assert.ok(host.bytes.every((byte) => byte === 9));
  }),
  conformanceCase(
    "the time between two events is never negative, and longer around more work",
    async (bench) => {
      const module = bench.load(bench.session.kernelsPtx, "base.ptx");
      const input = await bench.upload(seedPattern(1, ELEMENTS));
      const [start, middle, end] = [bench.createEvent(), bench.createEvent(), bench.createEvent()];
      bench.stream.record(start);
      bench.launch(module, "slow_add", slowAddArguments(input, input), shape);
      bench.stream.record(middle);
      bench.launch(module, "slow_add", slowAddArguments(input, input), shape);
      bench.stream.record(end);
      await bench.settle();
      assert.ok(start.isReached() && middle.isReached() && end.isReached());
      const [first, both] = [middle.elapsedNs(start), end.elapsedNs(start)];
      assert.ok(first >= 0 && both >= first, `${first} ns, then ${both} ns`);
      assert.equal(start.elapsedNs(start), 0);
    },
  ),
  conformanceCase("an event can be recorded again", async (bench) => {
    const [start, end] = [bench.createEvent(), bench.createEvent()];
    for (let round = 0; round < 3; round++) {
      bench.stream.record(start);
      bench.stream.record(end);
      await bench.settle();
      assert.ok(end.elapsedNs(start) >= 0);
    }
  }),
];

async function twoStreams(bench: Bench): Promise<void> {
  const module = bench.load(bench.session.kernelsPtx, "base.ptx");
  const streams = [bench.stream, bench.createStream()];
  const jobs = await Promise.all(
    streams.map(async (stream, index) => {
      const input = seedPattern(index, ELEMENTS);
      return { stream, input, buffer: await bench.upload(input), host: bench.host(4 * ELEMENTS) };
    }),
  );
  for (let round = 0; round < 4; round++) {
    for (const { stream, buffer } of jobs) {
      bench.launch(module, "slow_add", slowAddArguments(buffer, buffer), { ...shape, stream });
    }
  }
  for (const { stream, buffer, host } of jobs) stream.copyOut(host, 0, whole(buffer));
  for (const { stream, input, host } of jobs) {
    await bench.settle(stream);
    const expected = referenceSlowAdd(input, 4 * ITERATIONS);
    assert.equal(compareF32(expected, asF32(host.bytes)).bad, 0);
  }
}
