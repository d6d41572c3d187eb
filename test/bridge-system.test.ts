// The bridge over the real owner: records in files, the kernels on the software GPU in a die host.
// What operands, sizes, files and devices can do to a job, seen from the producer's side.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { systemClock } from "../src/base/mod.ts";
import { createBridge, type Bridge, type BridgeOptions } from "../src/bridge/mod.ts";
import { mailboxV1In, MEMORY_FOLDER, place, recordV1 } from "../src/bridge/testing.ts";
import type { Owner } from "../src/owner/mod.ts";
import {
  CUBD_DONE,
  encodeLaunchDescriptor,
  OPERATION,
  statusName,
  type LaunchArgument,
} from "../src/records/mod.ts";
import { BASE_MODULE, createSoftOwner } from "./bridge-owner.ts";
import { Producer } from "./bridge-producer.ts";

const { mail, vadd, vadd_mutated: mutated, slow_add: slowAdd, launch } = OPERATION;

const folder = mkdtempSync(join(MEMORY_FOLDER, "holdfast-bridge-"));
const lines: string[] = [];
let owner: Owner;

before(() => (owner = createSoftOwner(1)));

after(async () => {
  await owner.leave();
  rmSync(folder, { recursive: true });
});

/** Serves the mailboxes for as long as the test takes. */
function serve(context: TestContext, mailboxes: BridgeOptions["mailboxes"]): Bridge {
  const made = createBridge({
    owner,
    mailboxes,
    baseModule: BASE_MODULE,
    clock: systemClock,
    pollUs: null,
    stateDirectory: join(folder, "state"),
    printJobLine: (line) => lines.push(line),
    log: (line) => lines.push(line),
  });
  assert.ok(made.ok, JSON.stringify(made));
  const serving = made.value.run();
  context.after(async () => {
    made.value.stop();
    await serving;
  });
  return made.value;
}

let boxes = 0;

function open(context: TestContext, more: Partial<Producer["mailbox"]> = {}): Producer {
  const producer = new Producer(folder, { name: `box${String(boxes++)}`, ...more });
  serve(context, [producer.mailbox]);
  return producer;
}

const floats = (bytes: Buffer): Float32Array => new Float32Array(new Uint8Array(bytes).buffer);
const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.buffer);

const A = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => 0.5 * (i % 1000));
const B = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => 0.25 * (i % 997));

function join2(a: Float32Array, b: Float32Array): Float32Array {
  const both = new Float32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Few, one under and over a block, and one more than the published size. */
const SIZES = [1, 255, 256, 257, 2 ** 20 + 1];

for (const n of SIZES) {
  test(`n = ${String(n)}: vadd, its mutation, mail and slow_add`, async (context) => {
    const producer = open(context, { verify: "full" });
    const [a, b] = [A(n), B(n)];
    const sums = a.map((value, index) => value + (b[index] ?? 0));
    const checksum = sums.reduce((total, value) => total + value, 0);
    producer.write(join2(a, b));
    const added = await producer.run(vadd, n);
    assert.deepEqual([added.statusName, added.bad, added.checked], ["ok", 0n, BigInt(n)]);
    assert.equal(added.checksum, checksum);
    assert.deepEqual(floats(producer.out()), sums);
    const wrong = await producer.run(mutated, n);
    assert.deepEqual([wrong.statusName, wrong.bad], ["verify_failed", BigInt(n)]);
    assert.equal(wrong.checksum, checksum + n);
    assert.deepEqual(bits(floats(producer.out())), bits(sums.map((value) => value + 1)));
    const mailed = await producer.run(mail, n);
    assert.deepEqual([mailed.statusName, mailed.bad, mailed.checked], ["ok", 0n, BigInt(n)]);
    assert.deepEqual(bits(floats(producer.out())), bits(a));
    const slow = await producer.run(slowAdd, n, { iters: 3 });
    assert.equal(slow.statusName, "ok");
    assert.deepEqual(
      floats(producer.out()),
      a.map((value) => value + 3),
    );
  });
}

test("the published figures: n = 2^20", async (context) => {
  const n = 2 ** 20;
  const producer = open(context);
  producer.write(join2(A(n), B(n)));
  const done = await producer.run(vadd, n);
  assert.deepEqual([done.statusName, done.checksum, done.flags], ["ok", 392_344_090.5, 2]);
  assert.match(
    lines.at(-1) ?? "",
    / status=ok checksum=392344090\.500000 bad=0 out_bytes=4194304$/,
  );
  const wrong = await producer.run(mutated, n);
  assert.deepEqual([wrong.bad, wrong.checksum], [BigInt(n), 392_344_090.5 + n]);
  assert.equal(producer.out().readFloatLE(0), 1);
});

/** Bits of operands that are no ordinary numbers. */
const CORNERS = Uint32Array.of(
  ...[0, 0x8000_0000, 1, 0x8000_0001, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0xbf80_0000],
  ...[0x7f7f_ffff, 0xff7f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 0xffff_ffff],
);

test("NaN, infinities, subnormals and zeros of both signs, each with each", async (context) => {
  const corners = new Float32Array(CORNERS.buffer);
  const count = corners.length;
  const n = count * count;
  const a = Uint32Array.from({ length: n }, (_, index) => CORNERS[Math.floor(index / count)] ?? 0);
  const b = Uint32Array.from({ length: n }, (_, index) => CORNERS[index % count] ?? 0);
  const producer = open(context, { verify: "full" });
  const words = new Uint32Array(2 * n);
  words.set(a);
  words.set(b, n);
  producer.write(words);
  const done = await producer.run(vadd, n);
  assert.deepEqual([done.statusName, done.bad, done.checked], ["ok", 0n, BigInt(n)]);
  assert.ok(Number.isNaN(done.checksum));
  assert.match(lines.at(-1) ?? "", / status=ok checksum=nan bad=0 /);
  const [x, y] = [new Float32Array(a.buffer), new Float32Array(b.buffer)];
  const out = floats(producer.out());
  for (let index = 0; index < n; index++) {
    const sum = Math.fround((x[index] ?? 0) + (y[index] ?? 0));
    assert.ok(Object.is(out[index], sum), `${String(x[index])} + ${String(y[index])}`);
  }
  // Mail delivers every bit, of NaNs too.
  const mailed = await producer.run(mail, n);
  assert.equal(mailed.statusName, "ok");
  assert.ok(producer.out().equals(Buffer.from(a.buffer)));
});

const FLAGS: readonly (readonly [flags: number, checked: bigint, echoed: number])[] = [
  [0, 65_536n, 2],
  [2, 65_536n, 2],
  [4, 0n, 4],
];

test("flags say how much is compared, and the done record says it back", async (context) => {
  const producer = open(context);
  producer.write(join2(A(65_536), B(65_536)));
  for (const [flags, checked, echoed] of FLAGS) {
    const done = await producer.run(vadd, 65_536, { flags });
    assert.deepEqual([done.checked, done.flags], [checked, echoed]);
  }
  // Wrong on purpose and not looked at is not seen to be wrong; its checksum tells all the same.
  const unseen = await producer.run(mutated, 65_536, { flags: 4 });
  assert.deepEqual([unseen.statusName, unseen.bad], ["ok", 0n]);
  const n = 300 * 1024;
  const sampled = open(context, { verify: "sample" });
  sampled.write(join2(A(n), B(n)));
  const done = await sampled.run(mutated, n);
  assert.deepEqual([done.statusName, done.flags], ["verify_failed", 0]);
  assert.deepEqual([done.checked, done.bad], [64n * 1024n, 64n * 1024n]);
});

test("an input that is missing, empty, or too short", async (context) => {
  const producer = open(context);
  assert.equal((await producer.run(mail, 4)).statusName, "io_error");
  for (const bytes of [0, 15]) {
    producer.write(new Uint8Array(bytes));
    assert.equal((await producer.run(mail, 4)).statusName, "io_error");
  }
  producer.write(new Uint8Array(16));
  assert.equal((await producer.run(mail, 4)).statusName, "ok");
});

test("an output that is full, or in a folder that is not there", async (context) => {
  const full = open(context, { out: "/dev/full" });
  full.write(new Uint8Array(16));
  const done = await full.run(mail, 4);
  assert.deepEqual([done.statusName, done.outBytes], ["io_error", 0n]);
  assert.match(lines.at(-1) ?? "", /io_error: ENOSPC: write \/dev\/full: no space left/);
  const nowhere = open(context, { out: join(folder, "nowhere", "out") });
  nowhere.write(new Uint8Array(16));
  assert.equal((await nowhere.run(mail, 4)).statusName, "io_error");
  mkdirSync(join(folder, "nowhere"));
  assert.equal((await nowhere.run(mail, 4)).statusName, "ok");
});

/** A small file system of its own, or null where none can be mounted here. */
function mountSmall(context: TestContext): string | null {
  const disk = mkdtempSync(join(folder, "disk-"));
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk]).status !== 0) return null;
  context.after(() => spawnSync("umount", ["-l", disk]));
  return disk;
}

test("a disk that is full, and has room again", async (context) => {
  const disk = mountSmall(context);
  if (disk === null) {
    context.skip("no tmpfs can be mounted here");
    return;
  }
  const producer = open(context, { out: join(disk, "out"), done: join(disk, "done") });
  // Done records go to the full disk too, so they are waited for where they are.
  const done = (): Buffer => readFileSync(join(disk, "done"));
  const isAnswered = (seq: bigint): boolean =>
    statSync(join(disk, "done"), { throwIfNoEntry: false }) !== undefined &&
    done().readBigUInt64LE(16) === seq;
  producer.write(new Uint8Array(4 * 32_768));
  producer.post(mail, 32_768);
  await waitFor(() => isAnswered(1n));
  assert.equal(statusName(done().readUInt32LE(12)), "io_error");
  assert.equal(statSync(join(disk, "out"), { throwIfNoEntry: false }), undefined);

  // Now there is room for the output, and then none for the done record.
  writeFileSync(join(disk, "ballast"), new Uint8Array(45_056));
  producer.post(mail, 4096);
  await waitFor(() => lines.some((line) => line.includes("the done record cannot be written")));
  assert.equal(isAnswered(2n), false);
  rmSync(join(disk, "ballast"));
  await waitFor(() => isAnswered(2n));
  assert.equal(statusName(done().readUInt32LE(12)), "ok");
  assert.equal(statSync(join(disk, "out")).size, 16_384);

  // A file system that is read-only for a while, done file and all.
  spawnSync("mount", ["-o", "remount,ro", disk]);
  producer.post(OPERATION.mail, 0);
  await waitFor(() => lines.some((line) => /cannot be written, .*read-only/.test(line)));
  spawnSync("mount", ["-o", "remount,rw", disk]);
  await waitFor(() => isAnswered(3n));
  assert.equal(statusName(done().readUInt32LE(12)), "bad_size");
});

async function waitFor(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!condition()) {
    assert.ok(performance.now() < endMs, lines.slice(-10).join("\n"));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const FAULTS = fileURLToPath(new URL("../../test/kernels/faults.ptx", import.meta.url));

/** A mailbox with our faulty kernels and our good ones, and what launches them. */
function launchSite(context: TestContext) {
  const modules = mkdtempSync(join(folder, "modules-"));
  copyFileSync(FAULTS, join(modules, "faults.ptx"));
  copyFileSync(BASE_MODULE.path, join(modules, "base.ptx"));
  const producer = open(context, { modules });
  const hashOf = (name: string): string =>
    createHash("sha256")
      .update(readFileSync(join(modules, name)))
      .digest("hex");
  const run = (
    module: string,
    entry: string,
    given: readonly LaunchArgument[],
    operands: Uint8Array = new Uint8Array(8),
  ) => {
    const launched = { moduleSha256: hashOf(module), entry, arguments: given };
    const descriptor = encodeLaunchDescriptor(launched);
    const input = Buffer.concat([descriptor, operands]);
    producer.write(input);
    return producer.run(launch, 0, {
      inBytes: BigInt(input.length),
      outBytes: 64n,
      descBytes: descriptor.length,
      grid: [1, 1, 1],
      block: [16, 1, 1],
      timeoutMs: 300,
    });
  };
  return { modules, producer, run };
}

const OUT: LaunchArgument = { kind: "out", type: "u32", outOffset: 0, bytes: 64 };

test("op 256: right, wrong and endless kernels, one after the other", async (context) => {
  const { producer, run } = launchSite(context);
  const seven = await run("faults.ptx", "store_seven", [OUT]);
  assert.deepEqual([seven.statusName, seven.checksum, seven.flags], ["ok", 7, 4]);
  assert.equal(producer.out().readUInt32LE(0), 7);
  const wild = await run("faults.ptx", "out_of_bounds", [OUT]);
  assert.deepEqual([wild.statusName, wild.cudaError, wild.outBytes], ["device_error", 700, 0n]);
  const endless = await run("faults.ptx", "endless", [OUT]);
  assert.deepEqual([endless.statusName, endless.cudaError], ["timeout", 702]);
  // The die is back, and what was in out is what the last good job left there.
  assert.equal(producer.out().readUInt32LE(0), 7);
  assert.equal((await run("faults.ptx", "store_seven", [OUT])).statusName, "ok");
});

test("op 256: what does not fit, or is not there", async (context) => {
  const { modules, run } = launchSite(context);
  const statusOf = async (...words: Parameters<typeof run>): Promise<string> =>
    (await run(...words)).statusName;
  assert.equal(await statusOf("faults.ptx", "store_seven", []), "bad_descriptor");
  const scalar: LaunchArgument = { kind: "scalar", type: "u32", value: 1n };
  assert.equal(await statusOf("faults.ptx", "store_seven", [scalar]), "bad_descriptor");
  assert.equal(await statusOf("faults.ptx", "store_eight", [OUT]), "unknown_kernel");
  writeFileSync(join(modules, "broken.ptx"), ".version 4.2\n.target sm_30\nnonsense\n");
  assert.equal(await statusOf("broken.ptx", "store_seven", [OUT]), "unknown_kernel");
  assert.equal(await statusOf("faults.ptx", "store_seven", [OUT]), "ok");
});

test("op 256: vadd as a launch, operands and result sliced out of the payload", async (context) => {
  const { producer, run } = launchSite(context);
  const first = 64 + 4 * 32 + 8;
  const operands = Buffer.from(join2(A(16), B(16)).buffer);
  const slice = { type: "f32", bytes: 64 } as const;
  const done = await run(
    "base.ptx",
    "vadd",
    [
      { kind: "out", ...slice, outOffset: 0 },
      { kind: "in", ...slice, offset: first },
      { kind: "in", ...slice, offset: first + 64 },
      { kind: "scalar", type: "u32", value: 16n },
    ],
    operands,
  );
  assert.equal(done.statusName, "ok");
  const sums = A(16).map((value, index) => value + (B(16)[index] ?? 0));
  assert.deepEqual(floats(producer.out()), sums);
  assert.equal(
    done.checksum,
    sums.reduce((total, value) => total + value, 0),
  );
});

test("v1: operands and result in guest RAM, below and above the hole", async (context) => {
  const box = mkdtempSync(join(folder, "v1-"));
  const mailbox = mailboxV1In(box, { name: "v1", verify: "full", timeoutMs: 20_000 });
  const n = 1000;
  const ramBytes = 2 ** 31 + 65_536;
  writeFileSync(mailbox.ram, "");
  truncateSync(mailbox.ram, ramBytes);
  // Sparse: only what is written takes memory.
  const guest = { low: 0x10_0000, high: 2 ** 31 };
  writeAt(mailbox.ram, guest.low, Buffer.from(A(n).buffer));
  writeAt(mailbox.ram, guest.high, Buffer.from(B(n).buffer));
  serve(context, [mailbox]);
  const run = async (seq: bigint, more: Parameters<typeof recordV1>[0]): Promise<string> => {
    place(mailbox.job, recordV1({ seq, op: vadd, n, ...more }));
    await waitFor(() => readV1(mailbox.done)?.seq === seq);
    return statusName(readV1(mailbox.done)?.status ?? 99);
  };
  const [gpaA, gpaB, gpaC] = [BigInt(guest.low), 2n ** 32n, 2n ** 32n + 0x4000n];
  assert.equal(await run(1n, { gpaA, gpaB, gpaC }), "ok");
  const sums = A(n).map((value, index) => value + (B(n)[index] ?? 0));
  const out = readFileSlice(mailbox.ram, guest.high + 0x4000, 4 * n);
  assert.deepEqual(floats(out), sums);
  assert.equal(
    readV1(mailbox.done)?.checksum,
    sums.reduce((total, value) => total + value, 0),
  );
  assert.equal(await run(2n, { op: mutated, gpaA, gpaB, gpaC }), "verify_failed");
  assert.equal(readV1(mailbox.done)?.bad, n);
  assert.equal(await run(3n, { op: mail, gpaA, gpaC: 0n }), "ok");
  assert.deepEqual(floats(readFileSlice(mailbox.ram, 0, 4 * n)), A(n));
  // A file that lost its end, under a daemon that has it mapped.
  truncateSync(mailbox.ram, 2 ** 31);
  assert.equal(await run(4n, { gpaA, gpaB, gpaC }), "out_of_bounds");
  assert.equal(await run(5n, { gpaA, gpaB: gpaA, gpaC: 0n }), "ok");
  rmSync(mailbox.ram);
  assert.equal(await run(6n, { gpaA, gpaB: gpaA, gpaC: 0n }), "io_error");
});

function readV1(path: string) {
  try {
    const decoded = CUBD_DONE.decode(readFileSync(path));
    return decoded.ok ? decoded.value : null;
  } catch {
    return null;
  }
}

/** dd, since a file of 2 GiB is not to be read whole. */
function writeAt(path: string, offset: number, bytes: Buffer): void {
  const run = spawnSync("dd", [`of=${path}`, "bs=4096", `seek=${offset / 4096}`, "conv=notrunc"], {
    input: bytes,
  });
  assert.equal(run.status, 0);
}

function readFileSlice(path: string, offset: number, bytes: number): Buffer {
  const blocks = Math.ceil(bytes / 4096);
  const words = [`if=${path}`, "bs=4096", `skip=${offset / 4096}`, `count=${blocks}`];
  return spawnSync("dd", words, { maxBuffer: 2 ** 20 }).stdout.subarray(0, bytes);
}
