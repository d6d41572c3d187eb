import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { InvariantError, systemClock } from "../base/mod.ts";
import type { Job } from "../owner/mod.ts";
import { STATUS } from "../records/mod.ts";
import { createBridge } from "./bridge.ts";
import type { Bridge, BridgeOptions } from "./bridge-api.ts";
import type { MailboxV2 } from "./mailbox.ts";
import {
  createFastDies,
  doneIn,
  failedResult,
  mailboxV2In,
  place,
  recordV2,
  testFolder,
} from "./testing.ts";

type Opened = { readonly bridge: Bridge; readonly lines: string[]; readonly jobLines: string[] };

function options(folder: string, more: Partial<BridgeOptions> = {}): BridgeOptions {
  return {
    owner: createFastDies(),
    mailboxes: [mailboxV2In(folder)],
    baseModule: { name: "base.ptx", path: "/base.ptx" },
    stateDirectory: join(folder, "state"),
    pollUs: null,
    printJobLine: () => undefined,
    log: () => undefined,
    clock: systemClock,
    ...more,
  };
}

function open(context: TestContext, folder: string, more: Partial<BridgeOptions> = {}): Opened {
  const [lines, jobLines]: [string[], string[]] = [[], []];
  const log = (line: string): void => void lines.push(line);
  const printJobLine = (line: string): void => void jobLines.push(line);
  const made = createBridge(options(folder, { log, printJobLine, ...more }));
  assert.ok(made.ok, JSON.stringify(made));
  context.after(() => made.value.stop());
  return { bridge: made.value, lines, jobLines };
}

/** A mailbox's folder with four words in its input. */
function box(folder: string, name: string): string {
  const own = join(folder, name);
  mkdirSync(own);
  writeFileSync(join(own, "in"), new Uint8Array(Uint32Array.of(1, 2, 3, 4).buffer));
  return own;
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > endMs) assert.fail(`waited too long for ${what}`);
    await sleep(1);
  }
}

test("runOnce() answers one record and is over", async (context) => {
  const own = box(testFolder(context), "box");
  const { bridge, jobLines } = open(context, own);
  place(join(own, "job"), recordV2({ seq: 42n }));
  assert.deepEqual(await bridge.runOnce(), { kind: "done", status: "ok", seq: 42n });
  assert.equal(doneIn(own)?.status, STATUS.ok);
  assert.deepEqual(jobLines, [
    'CUBB2 seq=42 op=1 n=4 gpu="Fast die" kernel_ns=1000 status=ok checksum=10.000000 bad=0 ' +
      "out_bytes=16",
  ]);
  // Served again, it answers the next one.
  const second = bridge.runOnce();
  await sleep(20);
  place(join(own, "job"), recordV2({ seq: 43n, op: 9 }));
  assert.deepEqual(await second, { kind: "done", status: "unknown_op", seq: 43n });
});

test("runOnce() tells of a record that got no answer", async (context) => {
  const own = box(testFolder(context), "box");
  const { bridge } = open(context, own);
  writeFileSync(join(own, "job"), "no record at all, and of some length");
  assert.deepEqual(await bridge.runOnce(), { kind: "rejected", reason: "bad_magic" });
});

test("runOnce() of a job that was answered before answers it again", async (context) => {
  const own = box(testFolder(context), "box");
  const first = open(context, own);
  place(join(own, "job"), recordV2());
  await first.bridge.runOnce();
  first.bridge.stop();
  const before = readFileSync(join(own, "done"));
  const { bridge } = open(context, own);
  assert.deepEqual(await bridge.runOnce(), { kind: "done", status: "ok", seq: 1n });
  assert.deepEqual(readFileSync(join(own, "done")), before);
  assert.equal(bridge.counters().get("test")?.repeated, 1);
  assert.equal(bridge.counters().get("test")?.jobs, 0);
});

test("runOnce() that is stopped before any record came is null", async (context) => {
  const { bridge } = open(context, box(testFolder(context), "box"));
  const once = bridge.runOnce();
  await sleep(50);
  bridge.stop();
  assert.equal(await once, null);
});

test("runOnce() waits for what other mailboxes have under way", async (context) => {
  const folder = testFolder(context);
  const [slow, quick] = [box(folder, "slow"), box(folder, "quick")];
  let isSlowDone = false;
  const before = async (job: Job): Promise<undefined> => {
    if (job.check?.sampleSeed !== "1") return;
    await sleep(100);
    isSlowDone = true;
  };
  const { bridge } = open(context, folder, {
    owner: createFastDies({ before }),
    mailboxes: [mailboxV2In(slow, { name: "slow" }), mailboxV2In(quick, { name: "quick" })],
  });
  place(join(slow, "job"), recordV2({ seq: 1n }));
  place(join(quick, "job"), recordV2({ seq: 2n }));
  assert.deepEqual(await bridge.runOnce(), { kind: "done", status: "ok", seq: 2n });
  assert.ok(isSlowDone);
  assert.equal(doneIn(slow)?.seq, 1n);
});

test("run() serves until it is stopped, and lets the last job end", async (context) => {
  const own = box(testFolder(context), "box");
  let isRunning = false;
  const before = async (job: Job): Promise<undefined> => {
    isRunning = true;
    if (job.check?.sampleSeed === "20") await sleep(60);
  };
  const { bridge } = open(context, own, { owner: createFastDies({ before }) });
  let isOver = false;
  const serving = bridge.run().then(() => (isOver = true));
  for (let seq = 1n; seq < 20n; seq++) {
    place(join(own, "job"), recordV2({ seq }));
    await until(() => doneIn(own)?.seq === seq, `job ${String(seq)}`);
  }
  isRunning = false;
  place(join(own, "job"), recordV2({ seq: 20n }));
  await until(() => isRunning, "the last job to begin");
  bridge.stop();
  await sleep(10);
  assert.equal(isOver, false);
  await serving;
  assert.equal(doneIn(own)?.seq, 20n);
  assert.equal(bridge.counters().get("test")?.jobs, 20);
});

test("a stopped bridge ends at once, though it was resting", async (context) => {
  const { bridge } = open(context, box(testFolder(context), "box"), { pollUs: 60_000_000 });
  const serving = bridge.run();
  await sleep(20);
  const startMs = performance.now();
  bridge.stop();
  await serving;
  assert.ok(performance.now() - startMs < 1000);
});

test("a job under an owner that leaves is not answered, and the bridge ends", async (context) => {
  const own = box(testFolder(context), "box");
  const before = () => Promise.resolve(failedResult("refused", "leaving"));
  const { bridge } = open(context, own, { owner: createFastDies({ before }) });
  place(join(own, "job"), recordV2());
  await bridge.run();
  assert.equal(doneIn(own), null);
});

test("a broken invariant ends run() with it, after its job was answered", async (context) => {
  const own = box(testFolder(context), "box");
  const before = () => Promise.reject(new InvariantError("on purpose"));
  const { bridge } = open(context, own, { owner: createFastDies({ before }) });
  place(join(own, "job"), recordV2());
  await assert.rejects(bridge.run(), /on purpose/);
  assert.equal(doneIn(own)?.status, STATUS.internal);
});

test("a mailbox has one daemon; the next one has it after a stop", (context) => {
  const folder = box(testFolder(context), "box");
  const { bridge } = open(context, folder);
  const second = createBridge(options(folder));
  assert.ok(!second.ok);
  assert.equal(second.error.code, "mailbox_taken");
  const message = `test: process ${String(process.pid)} serves ${folder}/job already: stop it, or `;
  assert.ok(second.error.message.startsWith(message), second.error.message);
  bridge.stop();
  const third = createBridge(options(folder));
  assert.ok(third.ok);
  third.value.stop();
});

test("a mailbox has one daemon by whatever names and with whatever other files", (context) => {
  const folder = testFolder(context);
  const own = box(folder, "box");
  symlinkSync("box", join(folder, "alias"));
  const stateDirectory = join(folder, "state");
  open(context, folder, { mailboxes: [mailboxV2In(own)], stateDirectory });
  const alias = join(folder, "alias");
  const apart = mailboxV2In(box(folder, "apart"));
  const taken: readonly (readonly [path: string, mailbox: MailboxV2])[] = [
    [`${alias}/job`, mailboxV2In(alias)],
    [`${own}/job`, { ...apart, job: `${own}/job` }],
    [`${alias}/done`, { ...apart, done: `${alias}/done` }],
  ];
  for (const [path, mailbox] of taken) {
    const second = createBridge(options(folder, { mailboxes: [mailbox], stateDirectory }));
    assert.ok(!second.ok && second.error.code === "mailbox_taken", path);
    const message = `test: process ${String(process.pid)} serves ${path} already: `;
    assert.ok(second.error.message.startsWith(message), second.error.message);
  }
  const other = createBridge(options(folder, { mailboxes: [apart], stateDirectory }));
  assert.ok(other.ok);
  other.value.stop();
});

test("of two mailboxes none is taken where one cannot be", (context) => {
  const folder = testFolder(context);
  const [a, b] = ["a", "b"].map((name) => mailboxV2In(box(folder, name), { name }));
  assert.ok(a !== undefined && b !== undefined);
  const stateDirectory = join(folder, "state");
  const { bridge } = open(context, folder, { mailboxes: [b], stateDirectory });
  assert.ok(!createBridge(options(folder, { mailboxes: [a, b] })).ok);
  const other = createBridge(options(folder, { mailboxes: [a] }));
  assert.ok(other.ok);
  other.value.stop();
  bridge.stop();
  assert.deepEqual(readdirSync(join(stateDirectory, "bridges")), []);
});

test("mailboxes that clash are refused with the reason", (context) => {
  const folder = testFolder(context);
  const made = createBridge(options(folder, { mailboxes: [] }));
  assert.ok(!made.ok && made.error.code === "bad_mailbox");
});

test("without a state folder a bridge serves all the same", async (context) => {
  const own = box(testFolder(context), "box");
  writeFileSync(join(own, "state"), "a file in its place");
  const { bridge, lines } = open(context, own);
  for (const seq of [1n, 2n]) {
    place(join(own, "job"), recordV2({ seq }));
    await bridge.runOnce();
  }
  assert.equal(doneIn(own)?.seq, 2n);
  assert.equal(lines.length, 1, lines.join("; "));
  assert.match(lines[0] ?? "", /^bridge test: no sequence number is kept over a restart/);
  const kept = open(context, box(own, "second"), { stateDirectory: null });
  place(join(own, "second", "job"), recordV2());
  assert.equal((await kept.bridge.runOnce())?.kind, "done");
});

test("folders that come and go between jobs, with all that is in them", async (context) => {
  const folder = testFolder(context);
  const own = join(folder, "box");
  const { bridge } = open(context, folder, { mailboxes: [mailboxV2In(own)] });
  const serving = bridge.run();
  for (let round = 0; round < 20; round++) {
    box(folder, "box");
    place(join(own, "job"), recordV2());
    await until(() => doneIn(own)?.seq === 1n, `round ${String(round)}`);
    rmSync(own, { recursive: true });
  }
  bridge.stop();
  await serving;
  assert.equal(bridge.counters().get("test")?.jobs, 20);
});

test("a mailbox in a folder that may not be entered waits for it", async (context) => {
  if (process.getuid?.() === 0) {
    context.skip("root may enter every folder");
    return;
  }
  const own = box(testFolder(context), "box");
  place(join(own, "job"), recordV2());
  chmodSync(own, 0);
  const { bridge, lines } = open(context, own, { stateDirectory: null });
  const once = bridge.runOnce();
  await sleep(50);
  assert.equal(lines.length, 1);
  chmodSync(own, 0o700);
  assert.equal((await once)?.kind, "done");
});
