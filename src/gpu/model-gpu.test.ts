import assert from "node:assert/strict";
import { test } from "node:test";

import { GpuError } from "./error.ts";
import type { GpuContext, GpuKernel } from "./gpu.ts";
import {
  CALM_CONDUCT,
  createModelGpu,
  MODEL_DEVICE,
  type ModelConduct,
  type ModelWork,
} from "./model-gpu.ts";
import { packParameters } from "./parameters.ts";
import { PROBE_THREADS, referenceProbe } from "./reference.ts";

const lost = new GpuError({ code: 999, errorName: "E", call: "c", sticky: true });

function open(conduct: Partial<ModelConduct> = {}, memoryBytes = 4096): readonly GpuContext[] {
  const info = { ...MODEL_DEVICE, memoryBytes };
  const device = { info, conduct: { ...CALM_CONDUCT, ...conduct } };
  const gpu = createModelGpu(() => [device, device]);
  return [0, 1].map((ordinal) => {
    const made = gpu.openContext(ordinal);
    assert.ok(made.ok);
    return made.value;
  });
}

function probeOf(context: GpuContext): GpuKernel {
  const module = context.loadModule("", "m");
  assert.ok(module.ok);
  const kernel = module.value.kernel("probe");
  assert.ok(kernel.ok);
  return kernel.value;
}

test("a model's stream does its work in order, when it is due, and not before", () => {
  const allowed = new Set<ModelWork["kind"]>();
  const [context] = open({
    begin:
      ({ kind }) =>
      () =>
        allowed.has(kind),
  });
  assert.ok(context);
  const made = context.allocate(4 * PROBE_THREADS);
  const host = context.allocateHost(4 * PROBE_THREADS);
  assert.ok(made.ok && host.ok);
  const range = { buffer: made.value, offset: 0, bytes: 4 * PROBE_THREADS };
  const parameters = packParameters(probeOf(context), [
    { buffer: made.value },
    { type: "u32", value: 7 },
  ]);
  assert.ok(parameters.ok);
  const stream = context.createStream();
  const event = context.createEvent();
  const [grid, block] = [[1, 1, 1] as const, [PROBE_THREADS, 1, 1] as const];
  stream.launch({
    ...{ kernel: probeOf(context), grid, block, sharedBytes: 0 },
    parameters: parameters.value,
  });
  stream.copyOut(host.value, 0, range);
  stream.record(event);
  // The copy may go on, but the launch before it has not ended.
  allowed.add("copy").add("record");
  assert.equal(event.isReached(), false);
  assert.ok(host.value.bytes.every((byte) => byte === 0));
  allowed.add("launch");
  assert.equal(stream.isIdle(), true);
  assert.equal(event.isReached(), true);
  const words = new Uint32Array(host.value.bytes.buffer);
  assert.deepEqual([...words], [...referenceProbe(7)]);
});

test("a model takes a copy's bytes when the copy is done, not when it is asked for", () => {
  let isDue = false;
  const [context] = open({ begin: () => () => isDue });
  assert.ok(context);
  const [made, source, target] = [
    context.allocate(8),
    context.allocateHost(8),
    context.allocateHost(8),
  ];
  assert.ok(made.ok && source.ok && target.ok);
  const range = { buffer: made.value, offset: 0, bytes: 8 };
  const stream = context.createStream();
  source.value.bytes.fill(1);
  stream.copyIn(range, source.value, 0);
  stream.copyOut(target.value, 0, range);
  source.value.bytes.fill(2);
  isDue = true;
  assert.equal(stream.isIdle(), true);
  assert.ok(target.value.bytes.every((byte) => byte === 2));
});

test("a model's memory is bounded, and what is given back can be had again", () => {
  const [context] = open({}, 1000);
  assert.ok(context);
  const first = context.allocate(600);
  const second = context.allocate(600);
  assert.ok(first.ok && !second.ok);
  assert.equal(second.error.code, "out_of_memory");
  first.value.free();
  assert.ok(context.allocate(1000).ok);
  assert.equal(context.memory().freeBytes, 0);
});

test("after a model's context is lost, every later call of its process fails", () => {
  let isLost = false;
  const [first, second] = open({
    touch: () => {
      if (isLost) throw lost;
    },
  });
  assert.ok(first && second);
  const [one, other] = [first.createStream(), second.createStream()];
  assert.ok(one.isIdle() && other.isIdle());
  isLost = true;
  assert.throws(() => one.isIdle(), lost);
  isLost = false;
  assert.throws(() => other.isIdle(), lost);
  assert.ok(open()[0]?.createStream().isIdle(), "another process is untouched");
});
