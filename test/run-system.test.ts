// `run` and `demo` over the real owner, die hosts and software GPU; HOLDFAST_TEST_BACKEND=cuda runs
// the same on a GPU.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { testFolder, type Finished } from "./fakes/spawn-fake.ts";
import { PROGRAM } from "./repl-process.ts";

const BACKEND = process.env["HOLDFAST_TEST_BACKEND"] ?? "soft";
const BASE = fileURLToPath(new URL("../../kernels/base.ptx", import.meta.url));

const folder = testFolder();

function holdfast(...words: readonly string[]): Finished {
  const flags = ["--backend", BACKEND, "--state-dir", folder];
  const done = spawnSync(process.execPath, [PROGRAM, ...words, ...flags], {
    encoding: "utf8",
    cwd: folder,
    timeout: 120_000,
  });
  return { code: done.status, output: done.stdout, errors: done.stderr };
}

const bytesOf = (floats: Float32Array): Uint8Array => new Uint8Array(floats.buffer);

/** More than one block, and a last block that is not full. */
const COUNT = 1000;
const left = Float32Array.from({ length: COUNT }, (_, index) => index / 8);
const right = Float32Array.from({ length: COUNT }, (_, index) => 1000 - index);
writeFileSync(join(folder, "left.bin"), bytesOf(left));
writeFileSync(join(folder, "right.bin"), bytesOf(right));

const vadd = (...args: readonly string[]): Finished => {
  const shape = ["--kernel", "vadd", "--grid", "4", "--block", "256"];
  return holdfast("run", BASE, ...shape, ...args.flatMap((arg) => ["--arg", arg]));
};

test("run: files in, a file out, to the bit", () => {
  const done = vadd("out:f32[1000]@sum.bin", "in:@left.bin", "in:@right.bin", "u32:1000");
  assert.equal(done.code, 0, done.errors);
  const sums = left.map((value, index) => value + (right[index] ?? 0));
  assert.deepEqual(new Uint8Array(readFileSync(join(folder, "sum.bin"))), bytesOf(sums));
});

test("run: a buffer that goes in and comes out", () => {
  const done = vadd("inout:@left.bin@twice.bin", "in:@left.bin", "in:@left.bin", "u32:999");
  assert.equal(done.code, 0, done.errors);
  const twice = new Float32Array(new Uint8Array(readFileSync(join(folder, "twice.bin"))).buffer);
  assert.deepEqual(
    [twice.length, twice[1], twice[998], twice[999]],
    [COUNT, 0.25, 249.5, 999 / 8],
    "the last element is out of the kernel's range, so it is as it went in",
  );
});

test("run: generated inputs, and a preview of the output", () => {
  const done = vadd("out:f32[1000]", "in:f32[1000]=index", "in:f32[1000]=-0.5", "u32:1000");
  assert.equal(done.code, 0, done.errors);
  assert.match(done.output, /^arg 1 {3}f32\[1000\] = -0\.5 0\.5 1\.5 2\.5 3\.5 4\.5 5\.5 6\.5 …$/m);
});

test("run: a wrong number of arguments is 2, and names those that the kernel takes", () => {
  const done = vadd("out:f32[1000]", "in:@left.bin");
  assert.equal(done.code, 2);
  assert.match(done.errors, /vadd takes 4 arguments \(u64, u64, u64, u32\), not 2/);
});

test("run: a file that is no PTX is 2, and is named with line and column", () => {
  writeFileSync(join(folder, "bad.ptx"), ".version 4.2\n.target sm_30\n#include\n");
  const shape = ["--kernel", "k", "--grid", "1", "--block", "1"];
  const done = holdfast("run", "bad.ptx", ...shape);
  assert.equal(done.code, 2);
  if (BACKEND === "soft") assert.match(done.errors, /bad\.ptx:3:1: /);
});

for (const slot of ["sim", "direct"]) {
  test(`demo: passes behind the ${slot} slot`, () => {
    const done = holdfast("demo", "--slot", slot);
    assert.equal(done.code, 0, done.output + done.errors);
    assert.match(done.output, /^run vadd .*checksum 392344090\.500000 +PASS$/m);
    assert.match(done.output, /^run vadd_mutated .*1048576 of 1048576 .*PASS$/m);
    assert.ok(done.output.endsWith("\nPASS\n"));
  });
}
