/** The lines that the kernel test prints while it goes on. */
export class Progress {
  readonly #startMs = performance.now();

  /** One line with the seconds since the start. */
  note(text: string): void {
    process.stdout.write(`kernel-test ${this.#seconds().padStart(5)} s  ${text}\n`);
  }

  /** Something that came from elsewhere, as it is. */
  relay(line: string): void {
    process.stdout.write(`    ${line}\n`);
  }

  /** The closing lines, as node:test writes them. */
  close(counts: Readonly<Record<"tests" | "pass" | "fail" | "skipped", number>>): void {
    for (const [name, count] of Object.entries(counts)) {
      process.stdout.write(`ℹ ${name} ${String(count)}\n`);
    }
    process.stdout.write(`ℹ duration_ms ${(performance.now() - this.#startMs).toFixed(1)}\n`);
  }

  #seconds(): string {
    return ((performance.now() - this.#startMs) / 1000).toFixed(1);
  }
}
