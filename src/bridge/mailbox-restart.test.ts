// What a mailbox's server remembers: over restarts, and of folders that come and go.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { StateFile } from "./state-file.ts";
import { doneIn } from "./testing.ts";
import { Site } from "./testing-site.ts";

test("after a restart the last job is known by its done file", async (context) => {
  const site = new Site(context);
  site.post({ seq: 5n });
  await site.poll();
  rmSync(site.statePath);
  site.restart();
  await site.poll(10);
  assert.deepEqual(site.outcomes.at(-1), { kind: "done", status: "ok", seq: 5n });
  assert.equal(site.server.counters.read().repeated, 1);
  site.post({ seq: 4n });
  await site.poll();
  assert.deepEqual(site.seqsRun(), ["5"]);
});

test("after a restart without a done file the state tells", async (context) => {
  const site = new Site(context);
  site.post({ seq: 5n });
  await site.poll();
  const before = readFileSync(site.at("done"));
  rmSync(site.at("done"));
  site.restart();
  await site.poll();
  assert.deepEqual(readFileSync(site.at("done")), before);
  assert.deepEqual(site.seqsRun(), ["5"]);
});

test("a damaged state is told in a line, and the mailbox goes on without", async (context) => {
  const site = new Site(context);
  site.post({ seq: 5n });
  await site.poll();
  const state = readFileSync(site.statePath);
  for (const [bytes, lines] of [
    [state.subarray(0, 100), 1],
    [state, 0],
  ] as const) {
    writeFileSync(site.statePath, bytes);
    rmSync(site.at("done"));
    site.lines.length = 0;
    site.restart();
    await site.poll(10);
    assert.equal(site.done(), "5 ok");
    const told = site.lines.filter((line) => line.includes("kept.state is damaged: the last"));
    assert.equal(told.length, lines, site.lines.join("; "));
  }
  // Without its state it ran once more; with it, it did not.
  assert.deepEqual(site.seqsRun(), ["5", "5"]);
});

test("killed after the state and before the done file, a job is run again", async (context) => {
  const site = new Site(context);
  site.post({ seq: 5n });
  await site.poll();
  const [old, state] = [readFileSync(site.at("done")), readFileSync(site.statePath)];
  site.post({ seq: 6n });
  await site.poll();
  // What the disk would hold: the new state, the old done record.
  assert.notDeepEqual(readFileSync(site.statePath), state);
  writeFileSync(site.at("done"), old);
  site.restart();
  await site.poll();
  assert.equal(site.done(), "6 ok");
  assert.deepEqual(site.seqsRun(), ["5", "6", "6"]);
});

test("--forget-seq begins from nothing", async (context) => {
  const site = new Site(context);
  site.post({ seq: 5n });
  await site.poll();
  site.restart({ forgetSequence: true });
  site.post({ seq: 2n });
  await site.poll();
  assert.equal(site.done(), "2 ok");
});

test("a mailbox that was made anew begins anew, under a running daemon", async (context) => {
  const site = new Site(context);
  site.post({ seq: 50n });
  await site.poll();
  rmSync(site.at("."), { recursive: true });
  await site.poll();
  mkdirSync(site.at("."));
  writeFileSync(site.at("in"), new Uint8Array(16));
  site.post({ seq: 1n });
  await site.poll();
  assert.equal(site.done(), "1 ok");
  assert.deepEqual(site.seqsRun(), ["50", "1"]);
  assert.match(site.lines.at(-1) ?? "", /is another one: sequence numbers begin anew/);
});

test("and under one that was started after that", async (context) => {
  const site = new Site(context);
  site.post({ seq: 50n });
  await site.poll();
  rmSync(site.at("."), { recursive: true });
  mkdirSync(site.at("."));
  writeFileSync(site.at("in"), new Uint8Array(16));
  site.post({ seq: 1n });
  site.restart();
  await site.poll();
  assert.equal(site.done(), "1 ok");
});

test("a folder that was away and is back goes on where it was", async (context) => {
  const site = new Site(context);
  site.post({ seq: 50n });
  await site.poll();
  renameSync(site.at("."), join(site.folder, "away"));
  await site.poll();
  renameSync(join(site.folder, "away"), site.at("."));
  site.post({ seq: 49n });
  await site.poll();
  assert.deepEqual(site.server.counters.read().rejected, { stale_seq: 1 });
});

test("an answer for a mailbox that was made anew meanwhile is nobody's", async (context) => {
  const site = new Site(context, {
    before: async (job) => {
      if (job.check?.sampleSeed === "50") {
        rmSync(site.at("."), { recursive: true });
        mkdirSync(site.at("."));
        writeFileSync(site.at("in"), new Uint8Array(16));
        site.post({ seq: 1n });
      }
      return Promise.resolve(undefined);
    },
  });
  site.post({ seq: 50n });
  await site.poll(1);
  assert.equal(site.done(), "none");
  assert.equal(site.server.counters.read().rejected["done_unwritten"], 1);
  await site.poll();
  assert.equal(site.done(), "1 ok");
});

test("without the folder of its done file a job waits", async (context) => {
  const site = new Site(context);
  const elsewhere = join(site.folder, "later");
  site.restart({ done: join(elsewhere, "done") });
  site.post();
  await site.poll(10);
  assert.deepEqual(site.seqsRun(), []);
  assert.equal(site.lines.length, 1);
  assert.match(site.lines[0] ?? "", /the folder of .*later\/done is not there: jobs wait/);
  mkdirSync(elsewhere);
  await site.poll();
  assert.equal(doneIn(elsewhere)?.seq, 1n);
});

test("a state folder that cannot be written costs one line", async (context) => {
  const site = new Site(context);
  mkdirSync(site.statePath);
  for (const seq of [1n, 2n, 3n]) {
    site.post({ seq });
    await site.poll();
  }
  assert.equal(site.done(), "3 ok");
  assert.equal(site.lines.length, 1);
  assert.match(site.lines[0] ?? "", /no sequence number is kept over a restart: .*--state-dir/);
});

test("a state of another folder, or of no done record, says nothing", async (context) => {
  const site = new Site(context);
  new StateFile(site.statePath).write({
    folder: { dev: 1n, ino: 1n, birthNs: 0n },
    done: new Uint8Array(128),
  });
  site.post({ seq: 1n });
  await site.poll();
  assert.equal(site.done(), "1 ok");
});
