/**
 * A step process: makes the calls that can hang with the hardware, for an owner that goes on when
 * they do. Questions come on stdin and answers go to stdout, a line of JSON each. It ends when
 * stdin does, however the owner went, and releases nothing.
 *
 *   node board-step-main.js --root / --slot-device /dev/bar_swap
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { createStepServer, openBarSwap, type StepQuestion } from "../board/mod.ts";

/** sysexits.h: EX_SOFTWARE. */
const EXIT_BUG = 70;

const { values: flags } = parseArgs({
  options: {
    root: { type: "string", default: "/" },
    "slot-device": { type: "string", default: "/dev/bar_swap" },
  },
});
process.on("uncaughtException", (error) => {
  process.stderr.write(`bug: ${error.stack ?? String(error)}\n`);
  process.exit(EXIT_BUG);
});
const answer = createStepServer({
  root: flags.root,
  openSlot: () => openBarSwap(flags["slot-device"]),
});
const questions = createInterface({ input: process.stdin });
questions.on("line", (line) => {
  const reply = answer(JSON.parse(line) as StepQuestion);
  writeAll(1, Buffer.from(`${JSON.stringify(reply)}\n`));
});
questions.on("close", () => process.kill(process.pid, "SIGKILL"));

/** stdout is a pipe that nobody else writes to; a reader that is gone ends us through stdin. */
function writeAll(file: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
}
