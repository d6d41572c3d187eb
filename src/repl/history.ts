/** The lines typed at earlier prompts, kept in a file of the state directory. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../base/mod.ts";

export type History = {
  /** Newest first. */
  readonly lines: readonly string[];
  readonly remember: (line: string) => void;
};

/**
 * Reads the file, or begins with none. History is a comfort: where it cannot be read or kept the
 * prompt works without, and nothing is said.
 */
export function openHistory(path: string, linesMax: number): History {
  const lines = readLines(path).slice(-linesMax);
  return {
    lines: [...lines].reverse(),
    remember: (line) => {
      if (lines.at(-1) === line) return;
      lines.push(line);
      if (lines.length > linesMax) lines.shift();
      try {
        makeFolder(dirname(path), 0o700);
        writeFileSync(path, lines.map((each) => `${each}\n`).join(""), { mode: 0o600 });
      } catch {
        // A full or read-only disk must not disturb who is typing.
      }
    },
  };
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}
