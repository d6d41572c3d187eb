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
import {
  createStepServer,
  openBarSwap,
  type StepAnswer,
  type StepQuestion,
  type StepReady,
} from "../board/mod.ts";

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
  say(answer(JSON.parse(line) as StepQuestion));
});
questions.on("close", () => process.kill(process.pid, "SIGKILL"));
say({ ready: true });

/** A line for the owner. One that is gone ends us: through stdin, or here. */
function say(line: StepAnswer | StepReady): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(1, bytes, done);
  } catch {
    process.kill(process.pid, "SIGKILL");
  }
}
