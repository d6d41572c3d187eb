import { readFileSync } from "node:fs";

/**
 * True while the process runs. One that has ended and was not yet reaped by its parent does not.
 */
export function isRunning(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before the state may hold anything, a closing parenthesis included.
    return !/^[ZX]/.test(text.slice(text.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}
