/** The `holdfast` program in the guest, as anybody would start it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../../../bin/holdfast.js", import.meta.url));

/** A start takes 10 s under emulation, on a busy host many times that. */
const LINE_TIMEOUT_MS = 90_000;

/** Called with each line that the program prints. */
type Listener = (line: string) => void;

export class GuestCommand {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #lines = { stdout: [] as string[], stderr: [] as string[] };
  readonly #listeners = new Set<Listener>();

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [PROGRAM, ...args], { stdio: "pipe" });
    this.#closed = once(this.#child, "close");
    this.#child.stdin?.on("error", () => undefined);
    for (const name of ["stdout", "stderr"] as const) this.#follow(name);
  }

  get output(): readonly string[] {
    return this.#lines.stdout;
  }

  get errors(): readonly string[] {
    return this.#lines.stderr;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Types a line. */
  say(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Ends its input. */
  hangUp(): void {
    this.#child.stdin?.end();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Waits for its end; its exit code, null where a signal ended it. */
  async end(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  /** As a power cut does to it. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }

  /** Sends SIGKILL as soon as it prints such a line, and waits for its end. */
  async killAt(pattern: RegExp): Promise<void> {
    const off = this.#listen((line) => {
      if (pattern.test(line)) this.#child.kill("SIGKILL");
    });
    await this.#closed;
    off();
  }

  /** Waits for a line on either stream, one that came already included; gives the first. */
  async untilLine(pattern: RegExp): Promise<string> {
    const found = [...this.output, ...this.errors].find((line) => pattern.test(line));
    if (found !== undefined) return found;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        off();
      };
      const fail = (why: string): void => {
        settle();
        const all = [...this.errors, ...this.output].join("\n");
        reject(new Error(`no line like ${String(pattern)}: ${why}\n${all}`));
      };
      const timer = setTimeout(() => fail("timed out"), LINE_TIMEOUT_MS);
      void this.#closed.then(() => fail("the program ended"));
      const off = this.#listen((line) => {
        if (!pattern.test(line)) return;
        settle();
        resolve(line);
      });
    });
  }

  #listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #follow(name: "stdout" | "stderr"): void {
    const stream = this.#child[name];
    if (stream === null) throw new Error("spawned with a pipe");
    createInterface({ input: stream }).on("line", (line) => {
      this.#lines[name].push(line);
      for (const listener of [...this.#listeners]) listener(line);
    });
  }
}
