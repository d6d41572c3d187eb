// Runs the tests that need a real kernel, in an emulated guest: `npm run test:kernel`. Where this
// machine cannot, it says what is missing, prints SKIP, and ends with 0. See test/kernel/README.md.
import { fileURLToPath } from "node:url";
import { runGate } from "../test/kernel/gate/gate.ts";
import { Progress } from "../test/kernel/gate/progress.ts";
import { SkipGate } from "../test/kernel/gate/skip.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

// By default a signal ends a process without its exit handlers, which end qemu and free its memory.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}

try {
  if (!(await runGate(ROOT.replace(/\/$/, ""), new Progress()))) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof SkipGate)) throw error;
  process.stdout.write(`SKIP test:kernel: ${error.message}\n`);
}
