/** Other programs, each with a time limit, whose failure names the call and what it said last. */
import { spawnSync } from "node:child_process";

/** Administration tools are not on everybody's path. */
export const TOOL_PATH = `${process.env["PATH"] ?? "/usr/bin:/bin"}:/usr/sbin:/sbin`;

/** Kernel modules and their index are the largest that comes through a pipe: 70 MB unpacked. */
const OUTPUT_BYTES_MAX = 512 * 2 ** 20;

/** Lines of a failed tool's output that a message shows. */
const TAIL_LINES = 12;

export class ToolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ToolError";
  }
}

export type ToolOptions = {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly input?: Uint8Array;
  readonly environment?: Readonly<Record<string, string>>;
};

/** What the tool wrote to its output. Throws a ToolError where it failed, or took too long. */
export function runTool(command: string, args: readonly string[], options: ToolOptions): Buffer {
  const result = spawnSync(command, args, {
    timeout: options.timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: OUTPUT_BYTES_MAX,
    env: { ...process.env, PATH: TOOL_PATH, LC_ALL: "C", ...options.environment },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.input === undefined ? {} : { input: options.input }),
  });
  if (result.status === 0) return result.stdout;
  // Null for a program that could not be started, whatever its type says.
  const outputs: readonly (Buffer | null)[] = [result.stdout, result.stderr];
  const said = tailOf(outputs.map((output) => output?.toString() ?? "").join("\n"));
  const how = result.error?.message ?? `exit code ${String(result.status ?? result.signal)}`;
  throw new ToolError(`${[command, ...args].join(" ")}: ${how}${said === "" ? "" : `\n${said}`}`);
}

/** Whether a program of this name is there. */
export const hasTool = (name: string): boolean =>
  spawnSync("sh", ["-c", 'command -v "$0"', name], { env: { PATH: TOOL_PATH } }).status === 0;

/** The last lines that are not empty. */
export const tailOf = (text: string, lines = TAIL_LINES): string =>
  text
    .replaceAll("\r", "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-lines)
    .join("\n");
