/** Whether there is a bar_swap device here that we may use, before anything is started. */
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../base/mod.ts";

/** Null where it is ready; else one line that names the mend. */
export function checkSlotDevice(root: string, path: string): Result<void, string> {
  const whole = join(root, path);
  let isDevice: boolean;
  try {
    isDevice = statSync(whole).isCharacterDevice();
  } catch (error) {
    const { code = "UNKNOWN" } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") return err(`${path} cannot be looked at: ${code}`);
    return err(
      `there is no ${path}: load the kernel module that offers it; \`--slot sim\` does without ` +
        "such a board, and `holdfast doctor` says what else is missing",
    );
  }
  if (!isDevice) return err(`${path} is not a character device; remove it and load its module`);
  try {
    accessSync(whole, constants.R_OK | constants.W_OK);
  } catch {
    return err(`${path} may not be opened for reading and writing: run it as root`);
  }
  return ok(undefined);
}
