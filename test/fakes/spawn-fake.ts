// Starts the program over the fake owner, and waits for its lines.
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const FAKE_MAIN = fileURLToPath(new URL("fake-main.js", import.meta.url));

/** Longest wait for a line that must come, in milliseconds: a loaded machine is slow. */
const WAIT_MS_MAX = 20_000;

/** Longest run of a whole command; the evidence runs all the others. */
const RUN_MS_MAX = 120_000;

/** A folder for one test file's files, removed when its tests are done. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

const environmentOf = (options: object, folder: string): NodeJS.ProcessEnv => ({
  ...process.env,
  FAKE_OWNER: JSON.stringify(options),
  XDG_STATE_HOME: folder,
  TMPDIR: folder,
});

export type Finished = {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
};

/** Runs the program to its end. */
export function runFake(
  words: readonly string[],
  more: { readonly options?: object; readonly input?: string | Buffer; readonly folder: string },
): Finished {
  const run = spawnSync(process.execPath, ["--enable-source-maps", FAKE_MAIN, ...words], {
    input: more.input ?? "",
    encoding: "utf8",
    cwd: more.folder,
    timeout: RUN_MS_MAX,
    env: environmentOf(more.options ?? {}, more.folder),
  });
  return { code: run.status, output: run.stdout, errors: run.stderr };
}

export type Started = {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  /** Until stdout matches; fails after a while. */
  readonly waitFor: (pattern: RegExp) => Promise<void>;
  readonly code: Promise<number | null>;
};

/** Starts the program. */
export function startFake(
  words: readonly string[],
  more: { readonly options?: object; readonly folder: string },
): Started {
  const child = spawn(process.execPath, [FAKE_MAIN, ...words], {
    env: environmentOf(more.options ?? {}, more.folder),
    cwd: more.folder,
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const waitFor = async (pattern: RegExp): Promise<void> => {
    const endMs = performance.now() + WAIT_MS_MAX;
    while (!pattern.test(output)) {
      if (performance.now() > endMs) throw new Error(`no ${String(pattern)} in:\n${output}`);
      await sleep(10);
    }
  };
  return { child, output: () => output, waitFor, code };
}
