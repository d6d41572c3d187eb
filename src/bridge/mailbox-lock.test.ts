import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { takeMailboxLock } from "./mailbox-lock.ts";
import { testFolder } from "./testing.ts";

const MODULE = new URL("./mailbox-lock.js", import.meta.url).href;

/** A program that takes the lock, says how that went, and stays. */
const HOLDER = `
  const { takeMailboxLock } = await import(${JSON.stringify(MODULE)});
  const taken = takeMailboxLock(process.argv[1]);
  console.log(taken.ok ? "taken" : JSON.stringify(taken.error));
  setInterval(() => undefined, 1000);
`;

async function startHolder(path: string) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", HOLDER, path]);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, line: line.toString().trim() };
}

test("a lock is taken once, and again after it was given back", (context) => {
  const path = join(testFolder(context), "a.lock");
  const lock = takeMailboxLock(path);
  assert.ok(lock.ok);
  assert.deepEqual(takeMailboxLock(path), {
    ok: false,
    error: { code: "taken", pid: process.pid },
  });
  lock.value.release();
  lock.value.release();
  const again = takeMailboxLock(path);
  assert.ok(again.ok);
  assert.deepEqual(readdirSync(dirname(path)), ["a.lock"]);
});

test("a process that was killed holds nothing", async (context) => {
  const path = join(testFolder(context), "a.lock");
  const { child, line } = await startHolder(path);
  context.after(() => child.kill("SIGKILL"));
  assert.equal(line, "taken");
  const refused = takeMailboxLock(path);
  assert.deepEqual(refused, { ok: false, error: { code: "taken", pid: child.pid } });
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.ok(takeMailboxLock(path).ok);
  assert.deepEqual(readdirSync(dirname(path)), ["a.lock"]);
});

const STALE: readonly (readonly [name: string, text: string])[] = [
  ["another process has the number now", `${String(process.pid)} 1\n`],
  ["no process has the number", "4194304999 12345\n"],
  ["it is empty", ""],
  ["it is no lock", "hello\n"],
];

for (const [name, text] of STALE) {
  test(`a lock is stale where ${name}`, (context) => {
    const path = join(testFolder(context), "a.lock");
    writeFileSync(path, text);
    assert.ok(takeMailboxLock(path).ok);
    assert.match(readFileSync(path, "utf8"), new RegExp(`^${String(process.pid)} \\d+\n$`));
  });
}

test("a lock that cannot be made says why", () => {
  const taken = takeMailboxLock("/nowhere/at/all/a.lock");
  assert.ok(!taken.ok && taken.error.code === "unavailable");
  assert.match(taken.error.message, /nowhere/);
});

test("of several that find a stale lock at once, one has it", async (context) => {
  const path = join(testFolder(context), "a.lock");
  writeFileSync(path, "4194304999 12345\n");
  const holders = await Promise.all(Array.from({ length: 4 }, () => startHolder(path)));
  for (const { child } of holders) context.after(() => child.kill("SIGKILL"));
  const winners = holders.filter(({ line }) => line === "taken");
  assert.equal(winners.length, 1, holders.map(({ line }) => line).join("; "));
  const told = `{"code":"taken","pid":${String(winners[0]?.child.pid)}}`;
  assert.equal(holders.filter(({ line }) => line === told).length, 3);
});
