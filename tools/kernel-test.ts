// Runs the tests that need a real kernel, in an emulated guest: `npm run test:kernel`. Where this
// machine cannot, it says what is missing, prints SKIP, and ends with 0. Arguments are the parts to run,
// e.g. `npm run test:kernel -- slot board`; without them all but `kills`. See test/kernel/README.md.
import { fileURLToPath } from "node:url";
import { DEFAULT_PARTS, OPTIONAL_PARTS } from "../test/kernel/gate/console.ts";
import { runGate } from "../test/kernel/gate/gate.ts";
import { Progress } from "../test/kernel/gate/progress.ts";
import { SkipGate } from "../test/kernel/gate/skip.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

// By default a signal ends a process without its exit handlers, which end qemu and free its memory.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}

const names = process.argv.slice(2);
const unknown = names.find((name) => !OPTIONAL_PARTS.some((part) => part === name));
if (unknown !== undefined) {
  process.stderr.write(`no part '${unknown}'; the parts are ${OPTIONAL_PARTS.join(" ")}\n`);
  process.exit(2);
}
const wanted =
  names.length === 0 ? DEFAULT_PARTS : OPTIONAL_PARTS.filter((part) => names.includes(part));

try {
  if (!(await runGate(ROOT.replace(/\/$/, ""), wanted, new Progress()))) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof SkipGate)) throw error;
  process.stdout.write(`SKIP test:kernel: ${error.message}\n`);
}
