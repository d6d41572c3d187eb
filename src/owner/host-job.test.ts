// Jobs in a die host over the fake GPU: where bytes come from and go, and what is refused.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import fc from "fast-check";

import { ok } from "../base/mod.ts";
import type { Job, JobArgument, JobPayload, JobResult } from "./job.ts";
import { createFakeGpu, createFakeScript, openJobBench, type FakeGpuScript } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-job-"));
test.after(() => rmSync(folder, { recursive: true }));

const script = createFakeScript();
const { run } = await openJobBench(() => ok({ gpu: createFakeGpu(script, 1), note: null }));

const base: Job = {
  module: { name: "base.ptx", path: import.meta.filename },
  entry: "mail",
  grid: [1, 1, 1],
  block: [256, 1, 1],
  sharedBytes: 0,
  arguments: [],
  timeoutMs: 1000,
};

const u32 = (value: number): JobArgument => ({ kind: "scalar", type: "u32", value: String(value) });

const fromPayload = (bytes: number, offset: number): JobArgument => ({
  kind: "buffer",
  bytes,
  source: { kind: "payload", offset },
  target: null,
});

const toPayload = (bytes: number, offset: number): JobArgument => ({
  kind: "buffer",
  bytes,
  source: { kind: "zero" },
  target: { kind: "payload", offset },
});

type Paths = { readonly in: string; readonly out: string };

let folders = 0;

/** An input file with this content, and a path for the output, in a folder of their own. */
function mailbox(content: Uint8Array): Paths {
  folders += 1;
  const at = mkdtempSync(join(folder, `${folders}-`));
  writeFileSync(join(at, "in"), content);
  return { in: join(at, "in"), out: join(at, "out") };
}

const payloadOf = (paths: Paths, bytesIn: number, bytesOut: number): JobPayload => ({
  input: { path: paths.in, bytes: bytesIn },
  output: { path: paths.out, bytes: bytesOut, placement: "rename" },
});

const causeOf = (result: JobResult): string =>
  result.status === "ok" ? "ok" : `${result.status} ${result.cause.name}`;

const words = (count: number): Uint8Array =>
  new Uint8Array(Uint32Array.from({ length: count }, (_, index) => index * 0x01010101).buffer);

test("a payload's slices go in and come out, and the rest of the output is zero", async () => {
  const content = words(8);
  const paths = mailbox(content);
  const result = await run({
    ...base,
    payload: payloadOf(paths, 32, 40),
    arguments: [toPayload(16, 16), fromPayload(16, 8), u32(4)],
  });
  assert.ok(result.status === "ok", causeOf(result));
  const expected = new Uint8Array(40);
  expected.set(content.subarray(8, 24), 16);
  assert.deepEqual(new Uint8Array(readFileSync(paths.out)), expected);
  const { bytesIn, bytesOut } = result.measures;
  assert.deepEqual([bytesIn, bytesOut], [32, 40]);
});

test("property: an earlier job's bytes are nowhere in a later one's output", async () => {
  const size = fc.integer({ min: 1, max: 50 });
  await fc.assert(
    fc.asyncProperty(size, size, fc.nat(50), async (count, extra, at) => {
      const content = new Uint8Array(4 * count).fill(0xee);
      const paths = mailbox(content);
      const bytesOut = 4 * (count + extra + at);
      const result = await run({
        ...base,
        payload: payloadOf(paths, content.length, bytesOut),
        arguments: [toPayload(4 * count, 4 * at), fromPayload(4 * count, 0), u32(count)],
      });
      assert.ok(result.status === "ok", causeOf(result));
      const expected = new Uint8Array(bytesOut);
      expected.set(content, 4 * at);
      assert.deepEqual(new Uint8Array(readFileSync(paths.out)), expected);
    }),
    { numRuns: 60 },
  );
});

test("input and output may be one file", async () => {
  const paths = mailbox(words(4));
  const result = await run({
    ...base,
    payload: payloadOf({ in: paths.in, out: paths.in }, 16, 8),
    arguments: [toPayload(8, 0), fromPayload(8, 8), u32(2)],
  });
  assert.equal(causeOf(result), "ok");
  assert.deepEqual(new Uint8Array(readFileSync(paths.in)), words(4).subarray(8));
});

test("a payload of no bytes touches no file", async () => {
  const result = await run({
    ...base,
    payload: {
      input: { path: "/no/such/in", bytes: 0 },
      output: { path: "/no/such/out", bytes: 0, placement: "rename" },
    },
    arguments: [
      { kind: "buffer", bytes: 8, source: { kind: "zero" }, target: null },
      { kind: "buffer", bytes: 8, source: { kind: "zero" }, target: null },
      u32(2),
    ],
  });
  assert.equal(causeOf(result), "ok");
});

test("two arguments point into one buffer, one of them before it in the list", async () => {
  const paths = mailbox(words(4));
  const result = await run({
    ...base,
    payload: payloadOf(paths, 16, 16),
    arguments: [
      { kind: "alias", argument: 1, offset: 8 },
      {
        kind: "buffer",
        bytes: 16,
        source: { kind: "payload", offset: 0 },
        target: { kind: "payload", offset: 0 },
      },
      u32(2),
    ],
  });
  assert.equal(causeOf(result), "ok");
  const [a, b] = [words(4).subarray(0, 8), words(4).subarray(0, 8)];
  assert.deepEqual(new Uint8Array(readFileSync(paths.out)), new Uint8Array([...a, ...b]));
});

test("a struct is taken from the payload by value", async () => {
  const paths = mailbox(words(6));
  const result = await run({
    ...base,
    entry: "store_struct",
    payload: payloadOf(paths, 24, 16),
    arguments: [toPayload(16, 0), { kind: "bytes", offset: 4, bytes: 16 }],
  });
  assert.equal(causeOf(result), "ok");
  assert.deepEqual(new Uint8Array(readFileSync(paths.out)), words(6).subarray(4, 20));
});

const good = [toPayload(16, 0), fromPayload(16, 0), u32(4)] as const;

const refusals: readonly (readonly [name: string, args: readonly JobArgument[], cause: string])[] =
  [
    ["the control: a job that fits", good, "ok"],
    ["an input slice beyond the payload", [good[0], fromPayload(16, 1), good[2]], "argument_range"],
    ["an output slice beyond the payload", [toPayload(16, 1), good[1], good[2]], "argument_range"],
    ["a negative offset", [good[0], fromPayload(16, -4), good[2]], "argument_range"],
    [
      "an alias past the end of its buffer",
      [good[0], { kind: "alias", argument: 0, offset: 17 }, good[2]],
      "argument_range",
    ],
    [
      "an alias of a number",
      [good[0], { kind: "alias", argument: 2, offset: 0 }, good[2]],
      "argument_alias",
    ],
    [
      "an alias of itself",
      [good[0], { kind: "alias", argument: 1, offset: 0 }, good[2]],
      "argument_alias",
    ],
    [
      "a struct where a pointer is declared",
      [good[0], { kind: "bytes", offset: 0, bytes: 4 }, good[2]],
      "argument_size",
    ],
    [
      "a struct beyond the payload",
      [good[0], { kind: "bytes", offset: 12, bytes: 8 }, good[2]],
      "argument_range",
    ],
    ["too few arguments", [good[0], good[1]], "argument_count"],
  ];

for (const [name, args, cause] of refusals) {
  test(`${name}: ${cause}`, async () => {
    const paths = mailbox(words(4));
    const result = await run({ ...base, payload: payloadOf(paths, 16, 16), arguments: args });
    assert.equal(causeOf(result), cause === "ok" ? "ok" : `refused ${cause}`);
    const held = readdirSync(join(paths.in, "..")).sort();
    assert.deepEqual(held, cause === "ok" ? ["in", "out"] : ["in"], "nothing half done is left");
  });
}

test("a payload larger than a record can ask for is refused", async () => {
  const paths = mailbox(words(4));
  const large = { ...base, arguments: good };
  const input = payloadOf(paths, 2 ** 31 + 1, 16);
  assert.equal(causeOf(await run({ ...large, payload: input })), "refused payload_too_large");
  const output = payloadOf(paths, 16, 2 ** 30 + 1);
  assert.equal(causeOf(await run({ ...large, payload: output })), "refused payload_too_large");
});

/** A job in a host of its own, since what is done to it may cost the host. */
async function runAlone(
  spoil: (script: FakeGpuScript) => void,
  job: Job,
): Promise<{ readonly cause: string; readonly freed: number }> {
  const own = createFakeScript();
  const bench = await openJobBench(() => ok({ gpu: createFakeGpu(own, 1), note: null }));
  spoil(own);
  return { cause: causeOf(await bench.run(job)), freed: own.freedBuffers };
}

/** More than a die keeps for the next job, so that a job's end can be seen to free it. */
const LARGE_BYTES = 2 ** 27;

test("a kernel that does not end times out: nothing is freed, and no output is left", async () => {
  const paths = mailbox(words(4));
  const large: JobArgument = {
    kind: "buffer",
    bytes: LARGE_BYTES,
    source: { kind: "zero" },
    target: null,
  };
  const job = {
    ...base,
    entry: "vadd",
    payload: payloadOf(paths, 16, 16),
    arguments: [good[0], large, good[1], u32(4)],
    timeoutMs: 20,
  };
  const endless = await runAlone((own) => void (own.isNextLaunchEndless = true), job);
  assert.deepEqual(endless, { cause: "timeout CUDA_ERROR_LAUNCH_TIMEOUT", freed: 0 });
  assert.deepEqual(readdirSync(join(paths.in, "..")), ["in"]);
  const control = await runAlone(() => undefined, job);
  assert.deepEqual(control, { cause: "ok", freed: 1 });
});

test("a kernel that faults is a device_error, and leaves no output", async () => {
  const paths = mailbox(words(4));
  const job = { ...base, payload: payloadOf(paths, 16, 16), arguments: good };
  const { cause } = await runAlone((own) => void (own.isNextLaunchFaulty = true), job);
  assert.equal(cause, "device_error CUDA_ERROR_ILLEGAL_ADDRESS");
  assert.deepEqual(readdirSync(join(paths.in, "..")), ["in"]);
});

test("a short input, and an output in no folder, fail before anything is launched", async () => {
  const paths = mailbox(words(4));
  let launches = 0;
  const kernel = script.onLaunch;
  script.onLaunch = () => void (launches += 1);
  const job = { ...base, arguments: good };
  const short = await run({ ...job, payload: payloadOf(paths, 17, 16) });
  assert.equal(causeOf(short), "io_error SHORT");
  const nowhere = { ...paths, out: join(folder, "no", "out") };
  assert.equal(
    causeOf(await run({ ...job, payload: payloadOf(nowhere, 16, 16) })),
    "io_error ENOENT",
  );
  assert.equal(launches, 0);
  assert.equal(causeOf(await run({ ...job, payload: payloadOf(paths, 16, 16) })), "ok");
  assert.equal(launches, 1);
  script.onLaunch = kernel;
});
