/** What the machine is, as far as measurements depend on it; nothing that names it. */
import { arch, availableParallelism, release, totalmem } from "node:os";
import { cpuName } from "../bench/cpu-baseline.ts";
import { bytesText } from "../units.ts";

/** Lines for the head of a file; `version` is ours. */
export function hostFacts(version: string): readonly string[] {
  return [
    `host  Linux ${kernelVersion()} ${arch()}, ${cpuName()}, ${availableParallelism()} cores, ` +
      `${bytesText(totalmem())} of memory`,
    `code  holdfast ${version}, node ${process.version}`,
  ];
}

/** Without what a distributor or an owner added to it. */
const kernelVersion = (): string => release().split(".").slice(0, 2).join(".");
