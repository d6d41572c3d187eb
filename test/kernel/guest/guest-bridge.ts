/** `holdfast bridge` in the guest, over the module's mailbox, as anybody would start it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { MAILBOX } from "./mailbox-module.ts";

const PROGRAM = fileURLToPath(new URL("../../../../bin/holdfast.js", import.meta.url));

/** Holds base.ptx, the module that the tests launch from. */
export const MODULES = fileURLToPath(new URL("../../../../kernels", import.meta.url));

const STATE = "/tmp/holdfast-state";

/** A start takes 10 s under emulation, on a busy host many times that. */
const READY_TIMEOUT_MS = 90_000;

export class GuestBridge {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #jobLines: string[] = [];
  readonly #logLines: string[] = [];
  #onLine: () => void = () => undefined;

  private constructor() {
    const files = ["job", "in", "out", "done"].flatMap((name) => [
      `--${name}`,
      `${MAILBOX}/cuda_bridge_${name}`,
    ]);
    const owner = ["--backend", "soft", "--dies", "1", "--state-dir", STATE];
    const flags = ["bridge", ...files, "--modules", MODULES, ...owner];
    this.#child = spawn(process.execPath, [PROGRAM, ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#closed = once(this.#child, "close");
    this.#follow(this.#child.stdout, this.#jobLines);
    this.#follow(this.#child.stderr, this.#logLines);
  }

  /** Starts one and waits until it serves. */
  static async start(): Promise<GuestBridge> {
    const bridge = new GuestBridge();
    await bridge.untilLogged(/ ready$/);
    return bridge;
  }

  /** The greppable line of each executed job. */
  get jobLines(): readonly string[] {
    return this.#jobLines;
  }

  get logLines(): readonly string[] {
    return this.#logLines;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits for a log line, one that came already included. */
  async untilLogged(pattern: RegExp): Promise<void> {
    await this.#until(this.#logLines, pattern);
  }

  /** Waits for a job line: it is printed right after the done record was written. */
  async untilJobLine(pattern: RegExp): Promise<void> {
    await this.#until(this.#jobLines, pattern);
  }

  /** As a power cut does to it. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }

  #follow(stream: NodeJS.ReadableStream | null, lines: string[]): void {
    if (stream === null) throw new Error("spawned with a pipe");
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      this.#onLine();
    });
  }

  async #until(lines: readonly string[], pattern: RegExp): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => {
        clearTimeout(timer);
        const all = [...this.#logLines, ...this.#jobLines].join("\n");
        reject(new Error(`no line like ${String(pattern)}: ${why}\n${all}`));
      };
      const timer = setTimeout(() => fail("timed out"), READY_TIMEOUT_MS);
      this.#child.once("close", () => fail("the daemon ended"));
      this.#onLine = (): void => {
        if (!lines.some((line) => pattern.test(line))) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onLine();
    });
  }
}
