import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { systemClock } from "../base/mod.ts";
import type { Job } from "../owner/mod.ts";
import {
  encodeLaunchDescriptor,
  type Cubb2Job,
  type LaunchArgument,
  type StatusName,
} from "../records/mod.ts";
import type { AdmissionOptionsV2 } from "./admission.ts";
import { admitV2 } from "./admit-v2.ts";
import { ModuleDirectory } from "./module-directory.ts";
import { NoticeLog } from "./notice-log.ts";
import { cubb2Job, mailboxV2In, testFolder } from "./testing.ts";

const OPTIONS: AdmissionOptionsV2 = {
  mailbox: mailboxV2In("/nowhere"),
  baseModule: { name: "base.ptx", path: "/base.ptx" },
  modules: null,
};

const N_MAX = 2n ** 28n;

const vadd = (n: bigint, more: Partial<Cubb2Job> = {}): Partial<Cubb2Job> => ({
  op: 2,
  n,
  inBytes: 8n * n,
  outBytes: 4n * n,
  ...more,
});

const mail = (n: bigint): Partial<Cubb2Job> => ({ n, inBytes: 4n * n, outBytes: 4n * n });

const shape = (grid: Cubb2Job["grid"], block: Cubb2Job["block"]): Partial<Cubb2Job> => ({
  ...mail(256n),
  grid,
  block,
});

const launch = (more: Partial<Cubb2Job>): Partial<Cubb2Job> => ({
  op: 256,
  n: 0n,
  descBytes: 64,
  inBytes: 64n,
  outBytes: 0n,
  grid: [1, 1, 1],
  block: [1, 1, 1],
  ...more,
});

/** Each rule, from both sides; where two are broken the one that comes first is told. */
const CASES: readonly (readonly [
  name: string,
  record: Partial<Cubb2Job>,
  status: StatusName,
  reason?: RegExp,
])[] = [
  ["mail", {}, "ok"],
  ["vadd", vadd(4n), "ok"],
  ["the mutation", vadd(4n, { op: 3 }), "ok"],
  ["slow_add", { op: 4, iters: 2 ** 24 - 1 }, "ok"],
  ["every known flag of its own", { flags: 3 }, "ok"],
  ["VERIFY_NONE", { flags: 4 }, "ok"],
  ["both verify flags", { flags: 6 }, "bad_flags", /contradict/],
  ["an unknown flag", { flags: 8 }, "bad_flags", /flags 0x8 are unknown/],
  ["the highest flag", { flags: 0x8000_0000 }, "bad_flags", /flags 0x80000000/],
  ["flags before op", { flags: 8, op: 99 }, "bad_flags"],
  ["op 0", { op: 0 }, "unknown_op"],
  ["op 5", { op: 5 }, "unknown_op", /op 5 is none of 1 to 4 and 256/],
  ["op 255", { op: 255 }, "unknown_op"],
  ["op 257", { op: 257 }, "unknown_op"],
  ["op before n", { op: 5, n: 0n }, "unknown_op"],
  ["n 0", mail(0n), "bad_size", /n is 0/],
  ["n 1", mail(1n), "ok"],
  ["n 255", mail(255n), "ok"],
  ["n 257", mail(257n), "ok"],
  ["n 2^20 + 1", mail(2n ** 20n + 1n), "ok"],
  ["the largest n", mail(N_MAX), "ok"],
  ["the largest n of vadd", vadd(N_MAX), "ok"],
  ["one more", mail(N_MAX + 1n), "too_large"],
  ["n whose bytes are 2^32 and some", mail(2n ** 30n + 1n), "too_large"],
  ["n whose bytes in 32 bits are right", { n: 2n ** 30n + 4n }, "too_large"],
  ["the greatest n", { n: 2n ** 64n - 1n }, "too_large"],
  [
    "too little in",
    vadd(4n, { inBytes: 31n }),
    "bad_size",
    /in_bytes is 31; vadd of 4 .* needs 32/,
  ],
  ["too much in", { inBytes: 17n }, "bad_size"],
  ["in 2^32 too large", { inBytes: 2n ** 32n + 16n }, "bad_size"],
  ["too little out", { outBytes: 12n }, "bad_size", /out_bytes is 12; mail of 4 .* makes 16/],
  ["too much out", { outBytes: 20n }, "bad_size"],
  ["a descriptor of another op", { descBytes: 64 }, "bad_size", /only op 256 has a descriptor/],
  ["iters of another op", { iters: 1 }, "bad_size", /only op 4 repeats/],
  ["iters too many", { op: 4, iters: 2 ** 24 }, "too_large", /iters is 16777216/],
  ["a shape of its own", shape([1, 1, 1], [256, 1, 1]), "ok"],
  ["more threads than elements", shape([4, 1, 1], [1024, 1, 1]), "ok"],
  ["too few threads", shape([1, 1, 1], [255, 1, 1]), "bad_size", /255 threads for 256 elements/],
  ["a block too large", shape([1, 1, 1], [1025, 1, 1]), "bad_size", /at most 1024 threads/],
  ["a grid without a block", shape([1, 1, 1], [0, 0, 0]), "bad_size", /give x, 1, 1 for both/],
  ["a block without a grid", shape([0, 0, 0], [256, 1, 1]), "bad_size"],
  ["a flat grid of height 2", shape([1, 2, 1], [256, 1, 1]), "bad_size"],
  ["a block of depth 0", shape([1, 1, 1], [256, 1, 0]), "bad_size"],
  ["threads that overflow 32 bits", shape([2 ** 32 - 1, 1, 1], [1024, 1, 1]), "ok"],
  ["in too large for a launch", launch({ inBytes: 2n ** 31n + 1n }), "too_large", /in_bytes/],
  ["out too large for a launch", launch({ outBytes: 2n ** 30n + 1n }), "too_large", /out_bytes/],
  ["a descriptor beyond in", launch({ descBytes: 65 }), "bad_size", /desc_bytes is 65/],
  ["a launch without a grid", launch({ grid: [1, 0, 1] }), "bad_size", /only the producer knows/],
  ["a launch without a block", launch({ block: [0, 0, 0] }), "bad_size"],
  ["a descriptor too long", launch({ descBytes: 65_537, inBytes: 2n ** 20n }), "bad_descriptor"],
  ["a launch without in", launch({}), "io_error", /\/nowhere\/in/],
];

for (const [name, record, status, reason] of CASES) {
  test(`admission: ${name}: ${status}`, async () => {
    const admitted = await admitV2(cubb2Job(record), OPTIONS);
    assert.equal(admitted.ok ? "ok" : admitted.error.status, status);
    if (!admitted.ok && reason !== undefined) assert.match(admitted.error.reason, reason);
  });
}

async function jobOf(record: Partial<Cubb2Job>, options = OPTIONS): Promise<Job> {
  const admitted = await admitV2(cubb2Job(record), options);
  assert.ok(admitted.ok, JSON.stringify(admitted));
  return admitted.value;
}

test("the job of a vadd takes its operands one behind the other", async () => {
  const job = await jobOf(vadd(300n, { op: 3, seq: 9n, timeoutMs: 5, sharedBytes: 16 }));
  const buffer = { kind: "buffer", bytes: 1200 };
  assert.deepEqual(job, {
    module: OPTIONS.baseModule,
    entry: "vadd_mutated",
    grid: [2, 1, 1],
    block: [256, 1, 1],
    sharedBytes: 16,
    arguments: [
      { ...buffer, source: { kind: "zero" }, target: { kind: "payload", offset: 0 } },
      { ...buffer, source: { kind: "payload", offset: 0 }, target: null },
      { ...buffer, source: { kind: "payload", offset: 1200 }, target: null },
      { kind: "scalar", type: "u32", value: "300" },
    ],
    payload: {
      input: { path: "/nowhere/in", bytes: 2400 },
      output: { path: "/nowhere/out", bytes: 1200, placement: "rename" },
    },
    check: {
      reference: "vadd",
      extent: "full",
      elements: 300,
      iterations: 0,
      sampleSeed: "9",
      sums: [{ argument: 0, type: "f32" }],
    },
    timeoutMs: 5,
  });
});

test("slow_add has its iterations, and mail sums words", async () => {
  const slow = await jobOf({ op: 4, iters: 77 });
  assert.deepEqual(slow.arguments.at(-1), { kind: "scalar", type: "u32", value: "77" });
  assert.equal(slow.check?.iterations, 77);
  const mailed = await jobOf({});
  assert.deepEqual(mailed.check?.sums, [{ argument: 0, type: "u32" }]);
});

test("an output that is no plain file is written in place", async () => {
  const mailbox = { ...OPTIONS.mailbox, out: "/dev/full" };
  const job = await jobOf({}, { ...OPTIONS, mailbox });
  assert.equal(job.payload?.output?.placement, "in_place");
});

const TIMES: readonly (readonly [asked: number, given: number])[] = [
  [0, 1000],
  [1, 1],
  [60_000, 60_000],
  [60_001, 60_000],
  [2 ** 32 - 1, 60_000],
];

for (const [timeoutMs, given] of TIMES) {
  test(`timeout_ms ${String(timeoutMs)} gets ${String(given)} ms`, async () => {
    assert.equal((await jobOf({ timeoutMs })).timeoutMs, given);
  });
}

const EXTENTS: readonly (readonly [
  AdmissionOptionsV2["mailbox"]["verify"],
  bigint,
  number,
  string,
])[] = [
  ["auto", 2n ** 20n, 0, "full"],
  ["auto", 2n ** 20n + 1n, 0, "sample"],
  ["auto", 2n ** 20n + 1n, 2, "full"],
  ["auto", 1n, 4, "none"],
  ["full", 2n ** 28n, 0, "full"],
  ["sample", 1n, 0, "sample"],
  ["none", 1n, 0, "none"],
  ["none", 1n, 2, "full"],
];

for (const [verify, n, flags, expected] of EXTENTS) {
  test(`verify ${verify}, n ${String(n)}, flags ${String(flags)}: ${expected}`, async () => {
    const options = { ...OPTIONS, mailbox: { ...OPTIONS.mailbox, verify } };
    assert.equal((await jobOf({ ...mail(n), flags }, options)).check?.extent, expected);
  });
}

const MODULE_TEXT = ".version 4.2 and so on";
const MODULE = createHash("sha256").update(MODULE_TEXT).digest("hex");

/** A folder with a module in it, and what posts a launch there. */
function launchSite(context: TestContext) {
  const folder = testFolder(context);
  const clock = systemClock;
  const notices = new NoticeLog(() => undefined, clock);
  const modules = new ModuleDirectory({ folder, clock, notices });
  writeFileSync(join(folder, "scale.ptx"), MODULE_TEXT);
  const options = { ...OPTIONS, mailbox: mailboxV2In(folder), modules };
  const post = (given: readonly LaunchArgument[], moduleSha256 = MODULE): Partial<Cubb2Job> => {
    const descriptor = encodeLaunchDescriptor({ moduleSha256, entry: "scale", arguments: given });
    const bytes = new Uint8Array(descriptor.length + 1024);
    bytes.set(descriptor);
    writeFileSync(options.mailbox.in, bytes);
    const [descBytes, inBytes] = [descriptor.length, BigInt(bytes.length)];
    return launch({ descBytes, inBytes, outBytes: 1024n, grid: [3, 2, 1], block: [32, 2, 2] });
  };
  return { folder, options, post };
}

test("a launch becomes the job that its descriptor says", async (context) => {
  const { folder, options, post } = launchSite(context);
  const first = 64 + 6 * 32 + 8;
  const record = post([
    { kind: "inout", type: "f32", offset: first, outOffset: 512, bytes: 256 },
    { kind: "out", type: "s64", outOffset: 0, bytes: 512 },
    { kind: "in", type: "u8", offset: first + 256, bytes: 3 },
    { kind: "scalar", type: "s32", value: 0xffff_ffffn },
    { kind: "alias", argument: 0, offset: 4 },
    { kind: "bytes", offset: first + 264, bytes: 24 },
  ]);
  assert.equal(record.descBytes, first);
  const job = await jobOf({ ...record, sharedBytes: 48, timeoutMs: 9 }, options);
  const payload = (offset: number) => ({ kind: "payload", offset });
  assert.deepEqual(job.arguments, [
    { kind: "buffer", bytes: 256, source: payload(first), target: payload(512) },
    { kind: "buffer", bytes: 512, source: { kind: "zero" }, target: payload(0) },
    { kind: "buffer", bytes: 3, source: payload(first + 256), target: null },
    { kind: "scalar", type: "s32", value: "-1" },
    { kind: "alias", argument: 0, offset: 4 },
    { kind: "bytes", offset: first + 264, bytes: 24 },
  ]);
  assert.deepEqual(job.module, {
    name: "scale.ptx",
    path: join(folder, "scale.ptx"),
    sha256: MODULE,
  });
  assert.deepEqual([job.entry, job.grid, job.block], ["scale", [3, 2, 1], [32, 2, 2]]);
  assert.deepEqual([job.sharedBytes, job.timeoutMs], [48, 9]);
  assert.deepEqual(job.payload, {
    input: { path: join(folder, "in"), bytes: first + 1024 },
    output: { path: join(folder, "out"), bytes: 1024, placement: "rename" },
  });
  assert.deepEqual([job.check?.reference, job.check?.extent], [null, "none"]);
  assert.deepEqual(job.check?.sums, [
    { argument: 0, type: "f32" },
    { argument: 1, type: "s64" },
  ]);
});

test("a launch whose output is nothing writes nothing", async (context) => {
  const { options, post } = launchSite(context);
  const job = await jobOf({ ...post([]), outBytes: 0n }, options);
  assert.equal(job.payload?.output, null);
});

test("a launch of what is not there is an unknown kernel", async (context) => {
  const { options, post } = launchSite(context);
  const record = cubb2Job(post([], "0".repeat(64)));
  const missing = await admitV2(record, options);
  assert.ok(!missing.ok && missing.error.status === "unknown_kernel");
  assert.match(missing.error.reason, /^module 0{64}: no file in .* has that SHA-256/);
  const without = await admitV2(record, { ...options, modules: null });
  assert.ok(!without.ok && without.error.status === "unknown_kernel");
  assert.match(without.error.reason, /start with --modules/);
});

test("a launch whose descriptor is wrong, or cut off", async (context) => {
  const { folder, options, post } = launchSite(context);
  const outside = post([{ kind: "out", type: "f32", outOffset: 1024, bytes: 4 }]);
  const beyond = await admitV2(cubb2Job(outside), options);
  assert.ok(!beyond.ok && beyond.error.status === "out_of_bounds");
  const record = post([]);
  writeFileSync(join(folder, "in"), new Uint8Array(32));
  const short = await admitV2(cubb2Job(record), options);
  assert.ok(!short.ok && short.error.status === "io_error");
  assert.match(short.error.reason, /gave 32 bytes; the descriptor alone has 72/);
  writeFileSync(join(folder, "in"), new Uint8Array(4096));
  const zeros = await admitV2(cubb2Job(record), options);
  assert.ok(!zeros.ok && zeros.error.status === "bad_descriptor");
});
