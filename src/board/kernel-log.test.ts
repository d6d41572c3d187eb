// The follower over a source that behaves as /dev/kmsg does, in virtual time.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import fc from "fast-check";

import { VirtualClock } from "../base/mod.ts";
import type { BoardEvent } from "./board.ts";
import {
  followKernelLog,
  KERNEL_LOG_POLL_MS,
  openKernelLog,
  parseKernelRecord,
  RECORDS_PER_POLL_MAX,
  type KernelLogSource,
  type KernelRecord,
} from "./kernel-log.ts";
import { createKernelWatch } from "./kernel-watch.ts";

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** A ring of records, as the kernel has it. */
class Ring {
  readonly records: string[] = [];
  sequence = 0;
  failNext: string[] = [];
  isClosed = false;

  add(text: string, flags = "-"): void {
    this.records.push(`4,${String(this.sequence++)},1000,${flags};${text}\n SUBSYSTEM=pci\n`);
  }

  /** Overwrites what was not read yet: the next read says so. */
  overwrite(): void {
    this.records.length = 0;
    this.failNext.push("EPIPE");
  }

  readonly source: KernelLogSource = {
    read: (into) => {
      assert.equal(this.isClosed, false);
      const code = this.failNext.shift();
      if (code !== undefined) throw failure(code);
      const record = this.records.shift();
      if (record === undefined) throw failure("EAGAIN");
      return new TextEncoder().encodeInto(record, into).written;
    },
    close: () => void (this.isClosed = true),
  };
}

function follow(ring: Ring): {
  readonly clock: VirtualClock;
  readonly texts: string[];
  readonly notes: string[];
  readonly stop: () => void;
  readonly pass: (ms?: number) => Promise<void>;
} {
  const clock = new VirtualClock();
  const [texts, notes]: [string[], string[]] = [[], []];
  const stop = followKernelLog({
    clock,
    onRecord: ({ text }: KernelRecord) => void texts.push(text),
    onNote: (line) => void notes.push(line),
    open: () => ring.source,
  });
  const pass = async (ms = KERNEL_LOG_POLL_MS * 2): Promise<void> => {
    await clock.run(() => false, clock.nowMs() + ms);
  };
  return { clock, texts, notes, stop, pass };
}

test("records that were there before are not told, later ones are, once each", async () => {
  const ring = new Ring();
  for (let count = 0; count < RECORDS_PER_POLL_MAX * 3; count++) ring.add("old");
  const { texts, notes, pass, stop } = follow(ring);
  await pass();
  ring.add("new");
  await pass();
  await pass();
  assert.deepEqual([texts, notes], [["new"], []]);
  stop();
  assert.equal(ring.isClosed, true);
});

test("an overwritten log goes on, and says once how many records were lost", async () => {
  const ring = new Ring();
  ring.add("old");
  const { texts, notes, pass } = follow(ring);
  ring.add("first");
  await pass();
  for (let count = 0; count < 7; count++) ring.add("lost");
  ring.overwrite();
  ring.add("after");
  await pass();
  await pass();
  assert.deepEqual(texts, ["first", "after"]);
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? "", /\b7 records lost/);
});

test("a flood of records is read in pieces and in order", async () => {
  const ring = new Ring();
  const { texts, pass } = follow(ring);
  for (let count = 0; count < RECORDS_PER_POLL_MAX * 4; count++) ring.add(String(count));
  await pass();
  assert.equal(texts.length, RECORDS_PER_POLL_MAX * 4);
  assert.equal(texts.at(-1), String(RECORDS_PER_POLL_MAX * 4 - 1));
});

for (const [code, mend] of [
  ["EPERM", /run as root/],
  ["EACCES", /run as root/],
  ["ENOENT", /by probes alone$/],
  ["ENODEV", /by probes alone$/],
] as const) {
  test(`a log that cannot be opened (${code}) is one note`, () => {
    const notes: string[] = [];
    const stop = followKernelLog({
      clock: new VirtualClock(),
      onRecord: () => undefined,
      onNote: (line) => void notes.push(line),
      open: () => {
        throw failure(code);
      },
    });
    stop();
    assert.equal(notes.length, 1);
    assert.match(notes[0] ?? "", new RegExp(code));
    assert.match(notes[0] ?? "", mend);
  });
}

test("a log that fails later is one note, and is not read again", async () => {
  const ring = new Ring();
  const { notes, pass } = follow(ring);
  ring.failNext.push("EIO");
  await pass();
  ring.add("unread");
  await pass();
  assert.equal(notes.length, 1);
  assert.equal(ring.isClosed, true);
});

test("a record longer than any is passed over", async () => {
  const ring = new Ring();
  const { texts, notes, pass } = follow(ring);
  ring.failNext.push("EINVAL");
  ring.add("next");
  await pass();
  assert.deepEqual([texts, notes], [["next"], []]);
});

test("records are taken apart as the kernel puts them together", () => {
  const cases: readonly (readonly [string, Partial<KernelRecord> | null])[] = [
    ["6,1,2,-;text\n SUBSYSTEM=pci\n", { level: 6, sequence: 1, timeUs: 2, text: "text" }],
    ["30,1,2,-,caller=T1;a;b\n", { level: 6, text: "a;b", isContinuation: false }],
    ["4,9,2,c;first\n", { isContinuation: false, isPiece: true }],
    ["4,9,2,-;caf\\xc3\\xa9\n", { text: "caf\u00e9" }],
    ["4,9,2,+;more\n", { isContinuation: true }],
    ["4,9,2,-;a\\x0ab\\x09c\n", { text: "a\nb\tc" }],
    ["4,9,2,-;\n", { text: "" }],
    ["4,9,2,-\n", null],
    ["", null],
    ["garbage;text", null],
  ];
  for (const [raw, expected] of cases) {
    const found = parseKernelRecord(raw);
    if (expected === null) assert.equal(found, null, raw);
    else assert.deepEqual({ ...found, ...expected }, found, raw);
  }
});

test("no bytes make the parser throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (raw) => {
      parseKernelRecord(raw);
      parseKernelRecord(`4,1,2,-;${raw}`);
    }),
  );
});

test("a plain file in the device's place is read to its end and then left", async () => {
  const root = mkdtempSync(join(tmpdir(), "holdfast-kmsg-"));
  mkdirSync(join(root, "dev"));
  writeFileSync(join(root, "dev/kmsg"), "4,1,2,-;a plain file\n");
  const clock = new VirtualClock();
  const notes: string[] = [];
  const stop = followKernelLog({
    clock,
    onRecord: () => undefined,
    onNote: (line) => void notes.push(line),
    open: () => openKernelLog(root),
  });
  await clock.run(() => false, 1000);
  stop();
  assert.deepEqual(notes, []);
  rmSync(root, { recursive: true });
});

/** Watches die 3 at 0000:05:00.0; returns what ends that. */
function watchDie(ring: Ring, clock: VirtualClock, events: BoardEvent[]): () => void {
  const watch = createKernelWatch({
    clock,
    dies: () => [{ die: 3, address: "0000:05:00.0", name: "GK210" }],
    onNote: () => assert.fail("there is nothing to note"),
    open: () => ring.source,
  });
  return watch.watch((event) => void events.push(event));
}

test("events of a board's dies come out of records while somebody listens", async () => {
  const ring = new Ring();
  const clock = new VirtualClock();
  const events: BoardEvent[] = [];
  const forget = watchDie(ring, clock, events);
  ring.add("NVRM: Xid (PCI:0000:05:00): 31, pid=1, name=a, MMU Fault");
  ring.add("NVRM: Xid (PCI:0000:81:00): 79, not ours");
  ring.add("NVRM: Xid (PCI:0000:0");
  ring.add("5:00): 79, x", "+");
  ring.add("NVRM: The NVIDIA GPU 0000:05:00.0\\x0aNVRM: has\\x0aNVRM: fallen off the bus");
  await clock.run(() => false, KERNEL_LOG_POLL_MS * 2);
  assert.deepEqual(
    events.map(({ die, kind, xid }) => [die, kind, xid]),
    [
      [3, "xid", 31],
      [3, "xid", 79],
      [3, "off_bus", null],
    ],
  );
  forget();
  assert.equal(ring.isClosed, true);
});

const UUID = "GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7";

test("an Xid that begins a message of several pieces is not of the line before it", async () => {
  const ring = new Ring();
  const clock = new VirtualClock();
  const events: BoardEvent[] = [];
  ring.add(`NVRM: GPU at PCI:0000:05:00: ${UUID}`);
  const forget = watchDie(ring, clock, events);
  await clock.run(() => false, KERNEL_LOG_POLL_MS * 2);
  // What the driver said before our start tells whose this is.
  ring.add(`NVRM: Xid (${UUID}): 31, x`);
  ring.add("usb 1-1: new device");
  ring.add("NVRM: Xid (PCI:0000:05:00): 48, ", "c");
  ring.add("double bit", "+");
  ring.add("NVRM: Xid (PCI:0000:0");
  ring.add("5:00): 79, x", "c");
  await clock.run(() => false, KERNEL_LOG_POLL_MS * 4);
  assert.deepEqual(
    events.map(({ die, xid, text }) => [die, xid, text.includes("usb")]),
    [31, 48, 79].map((xid) => [3, xid, false]),
  );
  forget();
});
