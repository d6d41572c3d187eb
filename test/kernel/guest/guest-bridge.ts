/** `holdfast bridge` in the guest, over the module's mailbox. */
import { fileURLToPath } from "node:url";
import { GuestCommand } from "./guest-command.ts";
import { MAILBOX } from "./mailbox-module.ts";

/** Holds base.ptx, the module that the tests launch from. */
export const MODULES = fileURLToPath(new URL("../../../../kernels", import.meta.url));

const STATE = "/tmp/holdfast-state";

export class GuestBridge {
  readonly #command: GuestCommand;

  private constructor() {
    const files = ["job", "in", "out", "done"].flatMap((name) => [
      `--${name}`,
      `${MAILBOX}/cuda_bridge_${name}`,
    ]);
    const owner = ["--backend", "soft", "--dies", "1", "--state-dir", STATE];
    this.#command = new GuestCommand(["bridge", ...files, "--modules", MODULES, ...owner]);
  }

  /** Starts one and waits until it serves. */
  static async start(): Promise<GuestBridge> {
    const bridge = new GuestBridge();
    await bridge.untilLogged(/ ready$/);
    return bridge;
  }

  /** The greppable line of each executed job. */
  get jobLines(): readonly string[] {
    return this.#command.output;
  }

  get logLines(): readonly string[] {
    return this.#command.errors;
  }

  get isRunning(): boolean {
    return this.#command.isRunning;
  }

  /** Waits for a log line, one that came already included. */
  async untilLogged(pattern: RegExp): Promise<void> {
    await this.#command.untilLine(pattern);
  }

  /** Waits for a job line: it is printed right after the done record was written. */
  async untilJobLine(pattern: RegExp): Promise<void> {
    await this.#command.untilLine(pattern);
  }

  /** As a power cut does to it. */
  async kill(): Promise<void> {
    await this.#command.kill();
  }
}
