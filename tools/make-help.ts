// Makes bin/help.txt, what `holdfast --help` prints: `node dist/tools/make-help.js`.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const HELP = join(ROOT, "bin", "help.txt");
const MAIN = join(ROOT, "dist", "src", "cli", "main.js");

/** What the command line itself prints. */
export const makeHelp = (): string =>
  execFileSync(process.execPath, [MAIN, "--help"], { encoding: "utf8" });

/** What is committed. */
export const readHelp = (): string => readFileSync(HELP, "utf8");

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(HELP, makeHelp());
