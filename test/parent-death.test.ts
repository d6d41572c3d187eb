import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { isRunning } from "./process-state.ts";

const MODULE = new URL("../src/cli/parent-death-ffi.js", import.meta.url).href;

/** A process whose event loop never turns again, as one that is stuck in a driver call. */
const STUCK = `
  const { endWithParent } = await import(${JSON.stringify(MODULE)});
  const isSet = process.argv[1] === "with" ? endWithParent() : true;
  process._rawDebug(String(process.pid), String(isSet));
  for (;;);
`;

/** Starts the stuck one, and stays. */
const PARENT = `
  const { spawn } = await import("node:child_process");
  const flags = ["--input-type=module", "-e", process.argv[2], process.argv[1]];
  spawn(process.execPath, flags, { stdio: ["ignore", "ignore", "inherit"], detached: true });
  setInterval(() => {}, 1000);
`;

async function childAfterParent(mode: "with" | "without"): Promise<boolean> {
  const flags = ["--input-type=module", "-e", PARENT, mode, STUCK];
  const parent = spawn(process.execPath, flags, { stdio: ["ignore", "ignore", "pipe"] });
  const [line] = (await new Promise<string[]>((resolve) => {
    createInterface({ input: parent.stderr }).once("line", (text) => resolve([text]));
  })) as [string];
  const [pid, isSet] = line.split(" ");
  assert.equal(isSet, "true");
  parent.kill("SIGKILL");
  for (let tries = 0; tries < 40 && isRunning(Number(pid)); tries++) await sleep(25);
  const survived = isRunning(Number(pid));
  if (survived) process.kill(Number(pid), "SIGKILL");
  return survived;
}

test("endWithParent() ends a process that is stuck when its parent is killed", async () => {
  assert.equal(await childAfterParent("with"), false);
  assert.equal(await childAfterParent("without"), true, "without it the process stays");
});
