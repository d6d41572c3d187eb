import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { openJournal } from "./journal.ts";

test("openJournal() makes its directory and appends one line of JSON an entry", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a", "bring-up.jsonl");
  for (const die of [0, 1]) {
    const journal = openJournal({ path, now: () => new Date(0), bootId: "b" });
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
    assert.ok(openJournal({ path, now: () => new Date(0), bootId: "b" }).ok);
    assert.equal(statSync(path).size, left);
  }
  assert.equal(statSync(`${path}.old`).size, 4 * 1024 * 1024 + 1);
});
