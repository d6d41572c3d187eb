#!/usr/bin/env node
import { readFileSync, writeSync } from "node:fs";

/**
 * `holdfast --help` is most often asked by somebody who is waiting, and most of its time goes into
 * loading code that it does not need. So its text is kept beside this file, made from the real one by
 * tools/make-help.ts; where it cannot be printed at once the long way is taken.
 */
function printHelp() {
  try {
    const text = readFileSync(new URL("./help.txt", import.meta.url));
    return writeSync(1, text) === text.length;
  } catch {
    return false;
  }
}

const words = process.argv.slice(2);
const isHelp = words.length === 1 && (words[0] === "--help" || words[0] === "-h");
if (!isHelp || !printHelp()) await import("../dist/src/cli/main.js");
