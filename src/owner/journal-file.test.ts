import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { openJournal, readJournal } from "./journal-file.ts";
import { findInterruptions, parseJournal } from "./journal-report.ts";
import type { Journal, JournalEntry } from "./journal.ts";

function pathIn(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "bring-up.journal");
}

function openAt(path: string): Journal {
  const journal = openJournal({ path, now: () => new Date(0), bootId: "b", slot: "bar_swap" });
  assert.ok(journal.ok, journal.ok ? "" : journal.error);
  return journal.value;
}

const bindBegins: JournalEntry = { step: "bind", die: 1, phase: "begin" };
const bindDone: JournalEntry = { step: "bind", die: 1, phase: "done" };

const phasesIn = (path: string): readonly string[] =>
  parseJournal(readFileSync(path, "utf8")).map(({ step, die, phase }) => `${step} ${die} ${phase}`);

test("openJournal() makes its directory and appends one line of JSON an entry", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a", "bring-up.jsonl");
  for (const die of [0, 1]) {
    const journal = openJournal({ path, now: () => new Date(0), bootId: "b", slot: "direct" });
    assert.ok(journal.ok);
    journal.value.write({ step: "bind", die, phase: "begin" });
    journal.value.write({ step: "bind", die, phase: "failed", detail: "no\nway" });
  }
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  assert.equal(lines.length, 4);
  assert.deepEqual(JSON.parse(lines[3] ?? ""), {
    time: "1970-01-01T00:00:00.000Z",
    pid: process.pid,
    boot: "b",
    slot: "direct",
    step: "bind",
    die: 1,
    phase: "failed",
    detail: "no\nway",
  });
});

test("openJournal() says why a path will not do", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "file"), "");
  const journal = openJournal({
    path: join(folder, "file", "bring-up.jsonl"),
    now: () => new Date(0),
    bootId: "b",
    slot: "direct",
  });
  assert.ok(!journal.ok && /mkdir .*(already exists|not a directory)/.test(journal.error));
});

test("openJournal() begins a new file once the old one is long", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "bring-up.journal");
  for (const [bytes, left] of [
    [4 * 1024 * 1024, 4 * 1024 * 1024],
    [4 * 1024 * 1024 + 1, 0],
  ] as const) {
    writeFileSync(path, Buffer.alloc(bytes, "x"));
    assert.ok(openJournal({ path, now: () => new Date(0), bootId: "b", slot: "direct" }).ok);
    assert.equal(statSync(path).size, left);
  }
  assert.equal(statSync(`${path}.old`).size, 4 * 1024 * 1024 + 1);
});

test("an entry begins on a line of its own, whatever a crash has left before it", (context) => {
  const path = pathIn(context);
  const first = openAt(path);
  first.write({ ...bindBegins, die: 0 });
  truncateSync(path, statSync(path).size - 5);
  openAt(path).write(bindBegins);
  assert.deepEqual(phasesIn(path), ["bind 1 begin"], "the torn one is lost, not the next");
  // Another owner tears a line while this one runs.
  writeFileSync(path, '{"time":', { flag: "a" });
  first.write(bindDone);
  assert.deepEqual(phasesIn(path), ["bind 1 begin", "bind 1 done"]);
  assert.equal(readFileSync(path, "utf8").includes("\n\n"), false, "control: no line is empty");
});

test("what cannot be written is told, and how a rung ended follows", (context) => {
  const path = pathIn(context);
  const journal = openAt(path);
  assert.ok(journal.write(bindBegins).ok);
  // A folder in its place takes no line, as a full disk does not.
  rmSync(path);
  execFileSync("mkdir", [path]);
  const ended = journal.write(bindDone);
  assert.ok(!ended.ok && ended.error.includes(path));
  const begun = journal.write({ ...bindBegins, die: 2 });
  assert.ok(!begun.ok);
  rmSync(path, { recursive: true });
  assert.ok(journal.write({ ...bindBegins, die: 3 }).ok);
  assert.deepEqual(phasesIn(path), ["bind 1 done", "bind 3 begin"]);
});

test("a journal that is removed under a running owner is begun anew", (context) => {
  const path = pathIn(context);
  const journal = openAt(path);
  journal.write(bindBegins);
  rmSync(path);
  assert.ok(journal.write({ ...bindBegins, die: 2 }).ok);
  assert.deepEqual(phasesIn(path), ["bind 2 begin"]);
});

test("it is put aside while the owner runs, and what is open goes along", (context) => {
  const path = pathIn(context);
  const early = openAt(path);
  const journal = openAt(path);
  journal.write({ ...bindBegins, address: "0000:06:00.0" });
  const detail = "x".repeat(1024 * 1024);
  const move = { step: "acquire", die: 0 } as const;
  for (let count = 0; count < 13; count += 1) {
    journal.write({ ...move, phase: "begin" });
    journal.write({ ...move, phase: "done", detail });
  }
  assert.ok(statSync(path).size <= 5 * 1024 * 1024);
  assert.ok(statSync(`${path}.old`).size <= 6 * 1024 * 1024, "put aside more than once");
  assert.equal(parseJournal(readFileSync(path, "utf8"))[0]?.step, "bind");
  early.write({ step: "swap", die: 4, phase: "begin" });
  const text = readJournal(path);
  assert.ok(text.ok);
  const found = findInterruptions(text.value, { bootId: "b", isAlive: () => false });
  assert.deepEqual(
    found.map(({ line: { step, die } }) => `${step} ${die}`),
    ["bind 1", "swap 4"],
    "another owner's entry is in the new file, and nothing is told twice",
  );
  assert.deepEqual(readdirSync(join(path, "..")).length, 2, "nothing half-made is left");
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("readJournal(): none is empty, and what is no file is told and not waited for", (context) => {
  const path = pathIn(context);
  assert.deepEqual(readJournal(path), { ok: true, value: "" });
  assert.deepEqual(readJournal(join(path, "below", "journal")), { ok: true, value: "" });
  writeFileSync(path, "a");
  assert.deepEqual(readJournal(join(path, "below")), { ok: true, value: "" });
  writeFileSync(`${path}.old`, "b");
  assert.deepEqual(readJournal(path), { ok: true, value: "ba" });
  for (const make of [
    () => execFileSync("mkfifo", [path]),
    () => symlinkSync("/dev/full", path),
    () => execFileSync("mkdir", [path]),
  ]) {
    rmSync(path, { recursive: true });
    make();
    assert.ok(existsSync(path));
    const read = readJournal(path);
    assert.ok(!read.ok && read.error.startsWith(`open ${path}: `), JSON.stringify(read));
    const opened = openJournal({ path, now: () => new Date(0), bootId: "b", slot: "sim" });
    assert.ok(!opened.ok && opened.error.includes(path));
  }
});
