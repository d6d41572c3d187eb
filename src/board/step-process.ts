/** Starts step processes as child processes: questions on stdin, answers on stdout. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { invariant, type Log } from "../base/mod.ts";
import type { StepAnswer } from "./step-protocol.ts";
import type { StepLauncher, StepTransport } from "./step-runner.ts";

/** A launcher for `command`. What a step process writes to stderr goes to the log. */
export function createStepLauncher(options: {
  readonly command: readonly [string, ...string[]];
  readonly log: Log;
}): StepLauncher {
  return () => launch(options.command, options.log);
}

function launch([program, ...args]: readonly [string, ...string[]], log: Log): StepTransport {
  // A session of its own: a Ctrl-C at the terminal is for the owner, and what is abandoned is
  // abandoned with all that it has started.
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  const { stdin, stdout, stderr } = child;
  const pid = child.pid ?? null;
  // Writing to a process that has just died fails here first; its end is told by `onEnd`.
  stdin.on("error", () => undefined);
  createInterface({ input: stderr }).on("line", (line) => {
    log(`step process ${String(pid)}: ${line}`);
  });
  const lines = createInterface({ input: stdout });
  return {
    pid,
    send: (question) => void stdin.write(`${JSON.stringify(question)}\n`),
    onReady: (listener) => void lines.once("line", listener),
    onAnswer: (listener) => {
      // The first line is not an answer.
      lines.once("line", () => lines.on("line", (line) => listener(answerOf(line))));
    },
    onEnd: (listener) => {
      child.once("error", (error) => listener(`did not start: ${error.message}`));
      child.once("close", (code, signal) => {
        listener(signal === null ? `ended with code ${String(code)}` : `was killed by ${signal}`);
      });
    },
    abandon: () => {
      if (pid !== null) killGroup(pid);
      // It may never end; nobody here waits for it.
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      child.unref();
    },
    close: () => void stdin.end(),
  };
}

/** The process leads a group of its own. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

function answerOf(line: string): StepAnswer {
  const answer = JSON.parse(line) as StepAnswer;
  invariant(typeof answer.id === "number", `a step process said ${line}`);
  return answer;
}
