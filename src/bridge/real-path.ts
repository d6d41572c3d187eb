/** One name for a file, by whatever links it is reached. */
import { basename, dirname, join, resolve } from "node:path";

import { FileError, resolveTarget } from "../base/mod.ts";

/**
 * Where an absolute path leads in the end. Neither the file nor its folders need be there: of what
 * is not there, the text counts.
 */
export function realPathOf(path: string): string {
  const whole = resolve(path);
  try {
    return resolveTarget(whole);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const folder = dirname(whole);
    return folder === whole ? whole : join(realPathOf(folder), basename(whole));
  }
}
