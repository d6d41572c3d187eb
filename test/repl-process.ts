/** A real `holdfast owner` as a child process, asked one command after the other. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const PROGRAM = fileURLToPath(new URL("../../bin/holdfast.js", import.meta.url));

/** Longest wait for one answer; a kernel that is ended at its timeout is the slowest. */
const ANSWER_TIMEOUT_MS = 30_000;

export class ReplProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #lines: string[] = [];
  #marks = 0;
  #onLine: () => void = () => undefined;

  constructor(flags: readonly string[]) {
    this.child = spawn(process.execPath, [PROGRAM, "owner", ...flags], { stdio: "pipe" });
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      this.#lines.push(line.replace(/^\[[^\]]*\] /, ""));
      this.#onLine();
    });
    this.child.stderr.on("data", (chunk: Buffer) => this.#lines.push(`stderr: ${String(chunk)}`));
  }

  /** Every line so far, without its stamp. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /**
   * Sends a command and returns the lines that came before the answer to the next one, an unknown
   * command that serves as a mark.
   */
  async ask(command: string): Promise<readonly string[]> {
    const mark = `mark-${String(this.#marks++)}`;
    const from = this.#lines.length;
    this.child.stdin.write(`${command}\n${mark}\n`);
    await this.until((line) => line.startsWith(`unknown command '${mark}'`));
    return this.#lines.slice(from).filter((line) => !line.includes(mark));
  }

  /** Waits until a line, one that came already included, is as wanted. */
  async until(isWanted: (line: string) => boolean): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no answer; the lines so far:\n${this.#lines.join("\n")}`));
      }, ANSWER_TIMEOUT_MS);
      this.#onLine = (): void => {
        if (!this.#lines.some(isWanted)) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onLine();
    });
  }

  /** The process id of the die's host, from `status`. */
  async hostPid(die: number): Promise<number> {
    const lines = await this.ask("status");
    const line = lines.find((each) => new RegExp(`^ *die +${String(die)}:`).test(each)) ?? "";
    return Number(/host_pid=(-?\d+)/.exec(line)?.[1] ?? -1);
  }

  /** Leaves with `quit`; the exit code. */
  async quit(): Promise<number | null> {
    this.child.stdin.end("quit\n");
    if (this.child.exitCode !== null) return this.child.exitCode;
    return new Promise((resolve) => this.child.once("close", resolve));
  }
}
