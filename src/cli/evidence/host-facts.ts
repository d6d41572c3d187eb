/** What the machine is, as far as measurements depend on it; nothing that names it. */
import { arch, availableParallelism, release, totalmem } from "node:os";
import { cpuName } from "../bench/cpu-baseline.ts";
import { bytesText } from "../units.ts";

/** Lines for the head of a file; `version` is ours. */
export function hostFacts(version: string): readonly string[] {
  return [
    `host  Linux ${release()} ${arch()}, ${cpuName()}, ${availableParallelism()} cores, ` +
      `${bytesText(totalmem())} of memory`,
    `code  holdfast ${version}, node ${process.version}`,
  ];
}
