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
    rmSync(folder, { recursive: true, force: true });
  };
  const forget = surroundings.onExit(remove);
  try {
    return await action(folder);
  } finally {
    forget();
    remove();
  }
}
