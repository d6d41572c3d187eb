import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Surroundings } from "./surroundings.ts";

/**
 * A folder that exists for as long as `action` runs; the process's end removes it as well. It is
 * made in `parent`, the temporary directory unless one says otherwise.
 */
export async function withScratchFolder<T>(
  surroundings: Surroundings,
  action: (folder: string) => Promise<T>,
  parent: string = surroundings.temporaryDirectory,
): Promise<T> {
  const folder = mkdtempSync(join(parent, "holdfast-"));
  const remove = (): void => {
    try {
      // Who is just being ended may still write into it; then it is tried again.
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = code ?? message;
      surroundings.errors.write(`holdfast: ${folder} could not be removed: ${reason}\n`);
    }
  };
  const forget = surroundings.onExit(remove);
  try {
    return await action(folder);
  } finally {
    forget();
    remove();
  }
}
