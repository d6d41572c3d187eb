import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { systemClock } from "../../base/mod.ts";
import { CBD2_DONE, CUBD_DONE } from "../../records/mod.ts";
import {
  createProducerV1,
  createProducerV2,
  fileIdentity,
  putWhole,
  readIfThere,
} from "./producer.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-producer-"));
after(() => {
  rmSync(folder, { recursive: true });
});
const [job, done] = [join(folder, "job"), join(folder, "done")];
const options = { job, done, clock: systemClock, waitMsMax: 40 };

const doneV1 = (seq: bigint): Uint8Array =>
  CUBD_DONE.encode({ seq, status: 0, bad: 0, kernelNs: 1n, checksum: 0.5 });

suite("a producer", () => {
  test("puts its record in place as a whole, and takes it away", () => {
    const producer = createProducerV1(options);
    producer.post(Uint8Array.of(1, 2, 3));
    assert.deepEqual([...readFileSync(job)], [1, 2, 3]);
    assert.deepEqual(readdirSync(folder), ["job"], "nothing is left beside it");
    producer.clear();
    assert.ok(!existsSync(job));
    producer.clear();
  });

  test("gets the done record of its number, and no other", async () => {
    const producer = createProducerV1(options);
    putWhole(done, doneV1(7n));
    assert.equal((await producer.waitForDone(7n))?.seq, 7n);
    assert.equal(await producer.waitForDone(8n), null);
    const waiting = producer.waitForDone(8n);
    putWhole(done, doneV1(8n));
    assert.equal((await waiting)?.seq, 8n);
  });

  test("takes nothing else for a done record", async () => {
    const producer = createProducerV2(options);
    putWhole(done, doneV1(1n));
    assert.equal(await producer.waitForDone(1n), null, "v1's record on v2's path");
    putWhole(done, new Uint8Array(CBD2_DONE.bytes));
    assert.equal(await producer.waitForDone(0n), null);
    rmSync(done);
    assert.equal(await producer.waitForDone(1n), null, "no file");
  });

  test("waits until something is seen, or in vain", async () => {
    const producer = createProducerV1(options);
    let looks = 0;
    assert.equal(await producer.waitUntil(() => ++looks === 3), true);
    assert.equal(looks, 3);
    assert.equal(await producer.waitUntil(() => false), false);
  });
});

test("a file that is written again with the same bytes has another identity", () => {
  const path = join(folder, "twice");
  assert.deepEqual([readIfThere(path), fileIdentity(path)], [null, null]);
  putWhole(path, Uint8Array.of(1));
  const first = fileIdentity(path);
  assert.equal(fileIdentity(path), first);
  putWhole(path, Uint8Array.of(1));
  assert.notEqual(fileIdentity(path), first);
  assert.deepEqual([...(readIfThere(path) ?? [])], [1]);
});
