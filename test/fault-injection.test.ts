// A software GPU that is told to compute wrongly, and whether it is found out.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { OwnerRequest } from "../src/cli/open-owner.ts";
import { createOpenOwner } from "../src/cli/wiring.ts";
import { sampleCount } from "../src/gpu/mod.ts";
import { testFolder } from "./fakes/spawn-fake.ts";
import { openFaultyBench } from "./job-bench.ts";
import { basePath, proofOf, vaddJobIn } from "./vadd-job.ts";

const folder = testFolder();

test("full finds the wrong element of every launch", async () => {
  const { run } = await openFaultyBench({ kind: "wrong-element", seed: 3 });
  for (const elements of [256, 1000, 2 ** 17 + 1]) {
    const { checked, bad, firstBad } = proofOf(await run(vaddJobIn(folder, elements, "vadd")));
    assert.deepEqual([checked, bad], [elements, 1]);
    assert.ok(firstBad !== null && firstBad.expected !== firstBad.actual);
  }
});

test("an output of less than 1 KiB is right, as the probe's must be", async () => {
  const { run } = await openFaultyBench({ kind: "wrong-element", seed: 3 });
  assert.equal(proofOf(await run(vaddJobIn(folder, 255, "vadd"))).bad, 0);
});

test("a sample finds it as often as it looks where it is", async () => {
  const [pages, rounds, seed] = [128, 200, 11];
  const { run } = await openFaultyBench({ kind: "wrong-element", seed });
  const job = vaddJobIn(folder, pages * 1024, "vadd");
  const { check } = job;
  assert.ok(check !== undefined);
  let found = 0;
  for (let round = 0; round < rounds; round++) {
    const sampled = { ...check, extent: "sample", sampleSeed: String(round) } as const;
    found += proofOf(await run({ ...job, check: sampled })).bad;
  }
  const chance = sampleCount(pages) / pages;
  const spread = 5 * Math.sqrt(rounds * chance * (1 - chance));
  const text = `${found} of ${rounds} were found (seed ${seed})`;
  assert.ok(Math.abs(found - rounds * chance) < spread, text);
});

const request: OwnerRequest = {
  backend: "soft",
  dies: 1,
  slot: "direct",
  stateDirectory: folder,
  timeoutMs: 60_000,
  log: () => undefined,
};

/** How many elements were wrong of a job in an owner of its own, which is asked for `fault`. */
function badOfOwner(fault: OwnerRequest["fault"]): string {
  const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const dieHost = fileURLToPath(new URL("../src/cli/die-host-main.js", import.meta.url));
  // In a process of its own, since an owner ends with its process.
  const script = `
    const { createOpenOwner } = await import(${urlOf("../src/cli/wiring.js")});
    const { basePath, vaddJobIn } = await import(${urlOf("./vadd-job.js")});
    const dieHostCommand = [process.execPath, ${JSON.stringify(dieHost)}];
    const options = {
      ...{ dieHostCommand, basePayload: basePath, now: () => new Date() },
      ...{ boardStepCommand: ["/bin/false"], pid: process.pid },
    };
    const request = { ...${JSON.stringify({ ...request, fault })}, log: () => undefined };
    const opened = await createOpenOwner(options)(request);
    const job = vaddJobIn(${JSON.stringify(folder)}, 1000, "vadd");
    const result = await opened.value.owner.run(0, job);
    console.log(result.proof?.bad ?? result.cause);
    process.exit(0);
  `;
  const flags = ["--input-type=module", "-e", script];
  const run = spawnSync(process.execPath, flags, { encoding: "utf8", timeout: 60_000 });
  return run.stdout.trim() + run.stderr;
}

test("an owner's die hosts are told of a fault, and of none where none is asked for", () => {
  assert.equal(badOfOwner({ kind: "wrong-element", seed: 1 }), "1");
  assert.equal(badOfOwner(null), "0");
});

for (const backend of ["cuda", "auto"] as const) {
  test(`no fault is made with --backend ${backend}`, async () => {
    const fault = { kind: "wrong-element", seed: 1 } as const;
    const openOwner = createOpenOwner({
      dieHostCommand: ["/bin/false"],
      boardStepCommand: ["/bin/false"],
      pid: process.pid,
      basePayload: basePath,
      now: () => new Date(),
    });
    const opened = await openOwner({ ...request, backend, fault });
    assert.ok(!opened.ok);
    assert.equal(opened.error.code, "not_supported");
    assert.match(opened.error.message, /software GPU only: use --backend soft/);
  });
}
