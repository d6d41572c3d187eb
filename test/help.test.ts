import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { makeHelp, readHelp } from "../tools/make-help.ts";
import { PROGRAM } from "./repl-process.ts";

const run = (...words: readonly string[]): string =>
  execFileSync(process.execPath, [PROGRAM, ...words], { encoding: "utf8" });

test("bin/help.txt is what the command line prints", () => {
  assert.equal(readHelp(), makeHelp(), "stale: run node dist/tools/make-help.js");
});

test("--help and -h print it; the help of a command is another", () => {
  for (const words of [["--help"], ["-h"]]) assert.equal(run(...words), readHelp());
  assert.notEqual(run("run", "--help"), readHelp());
});
