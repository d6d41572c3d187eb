// What a job record asks for, run in a die host over a real backend.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { selfTestA, selfTestB } from "../src/gpu/mod.ts";
import type { Job, JobArgument } from "../src/owner/mod.ts";
import { testFolder } from "./fakes/spawn-fake.ts";
import { openRealBench } from "./job-bench.ts";
import { base, basePath, proofOf, vaddJobIn } from "./vadd-job.ts";

const folder = testFolder();
const { run } = await openRealBench();

const vaddJob = (elements: number, entry: "vadd" | "vadd_mutated"): Job =>
  vaddJobIn(folder, elements, entry);

test("vadd and its mutation give the published figures", async () => {
  const elements = 2 ** 20;
  const right = proofOf(await run(vaddJob(elements, "vadd")));
  assert.deepEqual([right.checked, right.bad, right.checksum], [elements, 0, "392344090.5"]);
  const out = new Float32Array(new Uint8Array(readFileSync(join(folder, "out"))).buffer);
  assert.deepEqual([out.length, out[1], out[999]], [elements, 0.75, 500]);
  const mutated = proofOf(await run(vaddJob(elements, "vadd_mutated")));
  assert.deepEqual([mutated.bad, mutated.checksum], [elements, "393392666.5"]);
  assert.deepEqual(mutated.firstBad, { index: 0, expected: "0", actual: "1" });
});

test("sizes around a block and around a turn of the check", async () => {
  for (const elements of [1, 255, 256, 257, 2 ** 20 + 1]) {
    const { checked, bad } = proofOf(await run(vaddJob(elements, "vadd")));
    assert.deepEqual([checked, bad], [elements, 0]);
  }
});

test("a module is launched by its hash, or not at all", async () => {
  const sha256 = createHash("sha256").update(readFileSync(basePath)).digest("hex");
  const job = vaddJob(100, "vadd");
  assert.equal(proofOf(await run({ ...job, module: { ...base, sha256 } })).bad, 0);
  const other = await run({ ...job, module: { ...base, sha256: "0".repeat(64) } });
  assert.ok(other.status === "refused");
  assert.equal(other.cause.name, "module_changed");
});

const causes: readonly (readonly [
  name: string,
  change: (job: Job) => Job,
  cause: readonly [status: string, name: string | null, call: string],
])[] = [
  [
    "an entry that the module has not",
    (job) => ({ ...job, entry: "nothing" }),
    ["refused", "CUDA_ERROR_NOT_FOUND", "cuModuleGetFunction"],
  ],
  [
    "a block of too many threads",
    (job) => ({ ...job, block: [2048, 1, 1] }),
    ["refused", null, "cuLaunchKernel"],
  ],
  [
    "more than any device has",
    (job) => ({
      ...job,
      payload: { input: null, output: null },
      arguments: job.arguments.map((argument) =>
        argument.kind === "buffer"
          ? { ...argument, bytes: 2 ** 44, source: { kind: "zero" }, target: null }
          : argument,
      ),
    }),
    ["refused", "CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc"],
  ],
  [
    "a module that is not there",
    (job) => ({ ...job, module: { name: "none.ptx", path: join(folder, "none.ptx") } }),
    ["refused", "module_not_found", "open"],
  ],
];

for (const [name, change, [status, cause, call]] of causes) {
  test(`${name}: ${status}, ${cause ?? "as the driver says"}, by ${call}`, async () => {
    const { check, ...job } = vaddJob(1000, "vadd");
    assert.ok(check !== undefined);
    const result = await run(change(job));
    assert.ok(result.status === "refused");
    if (cause !== null) assert.equal(result.cause.name, cause);
    assert.equal(result.cause.call.replace(/_v2$|DataEx$/, ""), call);
    assert.equal((await run(job)).status, "ok", "the die goes on");
  });
}

test("a kernel's own arguments may lie in one buffer", async () => {
  const job = vaddJob(1000, "vadd");
  const [out, , b, count] = job.arguments;
  assert.ok(out?.kind === "buffer" && b !== undefined && count !== undefined);
  const { check, ...unchecked } = job;
  assert.ok(check !== undefined);
  const inPlace: JobArgument = { ...out, source: { kind: "payload", offset: 0 } };
  const alias: JobArgument = { kind: "alias", argument: 0, offset: 0 };
  const result = await run({ ...unchecked, arguments: [inPlace, alias, b, count] });
  assert.equal(result.status, "ok");
  const sums = new Float32Array(new Uint8Array(readFileSync(join(folder, "out"))).buffer);
  const b999 = 0.25 * (999 % 997);
  assert.deepEqual([sums[0], sums[999]], [0, 0.5 * 999 + b999]);
});

test("operands and results in a guest's memory of 4 GiB, low and high", async () => {
  const path = join(folder, "ram");
  const file = openSync(path, "w+");
  const elements = 300_000;
  const bytes = 4 * elements;
  try {
    ftruncateSync(file, 4 * 2 ** 30);
    const windows = [2 ** 20, 2 ** 31 - 8, 3 * 2 ** 30 - bytes / 2];
    for (const start of windows) {
      const [a, b, c] = [start, start + bytes, start + 2 * bytes];
      writeSync(file, new Uint8Array(selfTestA(elements).buffer), 0, bytes, a);
      writeSync(file, new Uint8Array(selfTestB(elements).buffer), 0, bytes, b);
      const { payload, ...job } = vaddJob(elements, "vadd");
      assert.ok(payload !== undefined);
      const at = (offset: number) => ({ kind: "memory", path, offset }) as const;
      const [, , , count] = job.arguments;
      assert.ok(count !== undefined);
      const arrays: JobArgument[] = [
        { kind: "buffer", bytes, source: { kind: "zero" }, target: at(c) },
        { kind: "buffer", bytes, source: at(a), target: null },
        { kind: "buffer", bytes, source: at(b), target: null },
      ];
      const { bad, checked } = proofOf(await run({ ...job, arguments: [...arrays, count] }));
      assert.deepEqual([bad, checked], [0, elements]);
      const sums = new Float32Array(elements);
      readSync(file, new Uint8Array(sums.buffer), 0, bytes, c);
      assert.deepEqual([sums[1], sums[999]], [0.75, 500]);
    }
  } finally {
    closeSync(file);
    rmSync(path);
  }
});

const hasFallocate = spawnSync("fallocate", ["--version"]).status === 0;

test(
  "pages that a guest gave back and touched again are the device's too",
  {
    skip: hasFallocate ? false : "no fallocate(1) on this machine",
  },
  async () => {
    // On tmpfs, where a driver locks pages of files.
    const memory = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : folder, "holdfast-"));
    const path = join(memory, "ram");
    const file = openSync(path, "w+");
    const elements = 2 ** 20;
    const bytes = 4 * elements;
    const fill = (value: number, offset: number, count: number): void => {
      writeSync(file, Buffer.alloc(count, value), 0, count, offset);
    };
    const punch = (offset: number): void => {
      execFileSync("fallocate", ["-p", "-o", String(offset), "-l", "8192", path]);
    };
    try {
      ftruncateSync(file, 4 * bytes);
      const at = (offset: number) => ({ kind: "memory", path, offset }) as const;
      const mail = async (): Promise<number> => {
        const { payload, check, ...job } = vaddJob(elements, "vadd");
        assert.ok(payload !== undefined && check !== undefined);
        const given: JobArgument[] = [
          { kind: "buffer", bytes, source: { kind: "zero" }, target: at(2 * bytes) },
          { kind: "buffer", bytes, source: at(0), target: null },
          { kind: "scalar", type: "u32", value: String(elements) },
        ];
        const sums = [{ argument: 0, type: "u32" }] as const;
        const mailCheck = { ...check, reference: "mail", extent: "full", elements, sums } as const;
        const result = await run({ ...job, entry: "mail", arguments: given, check: mailCheck });
        return proofOf(result).bad;
      };
      fill(1, 0, bytes);
      assert.equal(await mail(), 0);
      punch(2 ** 20);
      fill(7, 2 ** 20, 8192);
      punch(2 * bytes + 3 * 2 ** 20);
      fill(9, 2 * bytes + 3 * 2 ** 20, 8192);
      assert.equal(await mail(), 0);
      const words = new Uint8Array(bytes);
      readSync(file, words, 0, bytes, 2 * bytes);
      assert.deepEqual(
        [words[0], words[2 ** 20], words[3 * 2 ** 20], words[bytes - 1]],
        [1, 7, 1, 1],
      );
    } finally {
      closeSync(file);
      rmSync(memory, { recursive: true });
    }
  },
);
