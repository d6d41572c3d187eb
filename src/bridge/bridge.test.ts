import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { systemClock } from "../base/mod.ts";
import { CBD2_DONE, CUBB2_JOB, OPERATION, STATUS, type Cubb2Job } from "../records/mod.ts";
import { createBridge } from "./bridge.ts";
import type { Bridge, BridgeOptions } from "./bridge-api.ts";
import { createFastDies, mailboxV2In } from "./testing.ts";

function testFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bridge-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const record = (more: Partial<Cubb2Job>): Uint8Array =>
  CUBB2_JOB.encode({
    ...{ flags: 0, seq: 1n, op: OPERATION.vadd, timeoutMs: 0, n: 4n, inBytes: 32n, outBytes: 16n },
    ...{ grid: [0, 0, 0], block: [0, 0, 0], sharedBytes: 0, descBytes: 0, guestId: 7n, iters: 0 },
    ...more,
  });

function open(
  folder: string,
  more: Partial<BridgeOptions> = {},
): { bridge: Bridge; lines: string[] } {
  const lines: string[] = [];
  const made = createBridge({
    owner: createFastDies(),
    mailboxes: [mailboxV2In(folder)],
    baseModule: { name: "base.ptx", path: "/base.ptx" },
    stateDirectory: join(folder, "state"),
    pollUs: null,
    printJobLine: (line) => lines.push(line),
    log: (line) => lines.push(line),
    clock: systemClock,
    ...more,
  });
  assert.ok(made.ok);
  return { bridge: made.value, lines };
}

test("a vadd job goes in and its done record comes out", async (context) => {
  const folder = testFolder(context);
  writeFileSync(
    join(folder, "in"),
    new Uint8Array(Float32Array.of(1, 2, 3, 4, 10, 20, 30, 40).buffer),
  );
  writeFileSync(join(folder, "job.new"), record({ seq: 42n }));
  renameSync(join(folder, "job.new"), join(folder, "job"));
  const { bridge, lines } = open(folder);
  const outcome = await bridge.runOnce();
  bridge.stop();
  assert.deepEqual(outcome, { kind: "done", status: "ok", seq: 42n });
  const out = readFileSync(join(folder, "out"));
  assert.deepEqual([...new Float32Array(new Uint8Array(out).buffer)], [11, 22, 33, 44]);
  const done = CBD2_DONE.decode(readFileSync(join(folder, "done")));
  assert.ok(done.ok);
  assert.equal(done.value.status, STATUS.ok);
  assert.equal(done.value.checksum, 110);
  assert.deepEqual(lines, [
    'CUBB2 seq=42 op=2 n=4 gpu="Fast die" kernel_ns=1000 status=ok checksum=110.000000 bad=0 ' +
      "out_bytes=16",
  ]);
});
