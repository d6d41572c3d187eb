/** `holdfast bridge` for v1 jobs, on the host, over the guest's RAM file. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { RAM_LOW_BYTES } from "./guest.ts";

/** It ends with the jobs under way, of which there are none by then. */
const STOP_TIMEOUT_MS = 10_000;

export type HostBridgeOptions = {
  /** Of the repository. */
  readonly root: string;
  /** Folder in which the guest posts `job` and looks for `done`. */
  readonly mailbox: string;
  readonly ramFile: string;
  readonly stateDirectory: string;
};

export class HostBridge {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #jobLines: string[] = [];
  readonly #otherLines: string[] = [];

  constructor({ root, mailbox, ramFile, stateDirectory }: HostBridgeOptions) {
    const files = ["--job", join(mailbox, "job"), "--done", join(mailbox, "done")];
    const ram = ["--ram", ramFile, "--ram-low-size", String(RAM_LOW_BYTES)];
    const owner = ["--backend", "soft", "--dies", "1", "--state-dir", stateDirectory];
    const program = join(root, "bin", "holdfast.js");
    const child = spawn(process.execPath, [program, "bridge", ...files, ...ram, ...owner], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#closed = once(child, "close");
    createInterface({ input: child.stdout }).on("line", (line) => {
      (line.startsWith("CUBB job ") ? this.#jobLines : this.#otherLines).push(line);
    });
    createInterface({ input: child.stderr }).on("line", (line) => this.#otherLines.push(line));
    process.once("exit", () => void child.kill("SIGKILL"));
  }

  /** The greppable line of each executed job. */
  get jobLines(): readonly string[] {
    return this.#jobLines;
  }

  /** All else that it printed. */
  get otherLines(): readonly string[] {
    return this.#otherLines;
  }

  /** Ends it as an operator would; its exit code, null where it had to be killed. */
  async stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => void this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await this.#closed;
    clearTimeout(timer);
    return this.#child.exitCode;
  }
}
