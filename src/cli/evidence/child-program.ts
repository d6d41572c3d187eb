/** Other programs, and this one again, as child processes whose output is kept. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Surroundings } from "../surroundings.ts";

export type ProgramRun = {
  /** Null where a signal ended it, or it is not there. */
  readonly code: number | null;
  /** stdout and stderr in the order in which they were written. */
  readonly output: string;
};

/**
 * Runs a program to its end; null where there is no such program. `folder` takes its output. It
 * does not outlive us.
 */
export async function runProgram(
  { onExit }: Pick<Surroundings, "onExit">,
  command: readonly [string, ...string[]],
  folder: string,
): Promise<ProgramRun | null> {
  const path = join(folder, "program-output");
  // Both streams share one open file, so that their order is kept.
  const file = openSync(path, "w");
  try {
    const [program, ...words] = command;
    const child = spawn(program, words, { stdio: ["ignore", file, file] });
    const forget = onExit(() => child.kill());
    const code = await exitOf(child);
    forget();
    return code === "absent" ? null : { code, output: readFileSync(path, "utf8") };
  } finally {
    closeSync(file);
  }
}

/** The words that start this very program with other arguments. */
export const ownCommand = (
  { program }: Pick<Surroundings, "program">,
  words: readonly string[],
): readonly [string, ...string[]] => [...program, ...words];

/** How the child ended; `absent` where its program is not there. */
export function exitOf(child: ChildProcess): Promise<number | null | "absent"> {
  return new Promise((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") resolve("absent");
      else reject(error);
    });
    child.once("close", resolve);
  });
}
