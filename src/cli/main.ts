/** The process: the only file that reads argv and the environment. */
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { runProcess } from "./run-process.ts";

// From dist/src/cli.
const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const basePayload = pathOf("../../../kernels/base.ptx");

await runProcess(process, {
  basePayload,
  words: process.argv.slice(2),
  environment: process.env,
  temporaryDirectory: tmpdir(),
  packagePath: pathOf("../../../package.json"),
  program: [process.execPath, ...process.execArgv, pathOf("./main.js")],
  openOwner: async (request) => {
    // Loaded for commands that need it, so that --help does not pay for it.
    const { createOpenOwner } = await import("./wiring.ts");
    const openOwner = createOpenOwner({
      dieHostCommand: [process.execPath, ...process.execArgv, pathOf("./die-host-main.js")],
      boardStepCommand: [process.execPath, ...process.execArgv, pathOf("./board-step-main.js")],
      pid: process.pid,
      basePayload,
      now: () => new Date(),
    });
    return openOwner(request);
  },
});
