// The real owner over the software GPU, for tests of the bridge: its die hosts are real processes.
import { fileURLToPath } from "node:url";

import { systemClock } from "../src/base/mod.ts";
import { createDirectBoard } from "../src/board/mod.ts";
import { createHostLauncher, createOwner, noJournal, type Owner } from "../src/owner/mod.ts";

const DIE_HOST = fileURLToPath(new URL("../src/cli/die-host-main.js", import.meta.url));

/** Where ops 1 to 4 are. */
export const BASE_MODULE = {
  name: "base.ptx",
  path: fileURLToPath(new URL("../../kernels/base.ptx", import.meta.url)),
};

/** An owner of that many dies. `leave` ends its die hosts. */
export function createSoftOwner(dies: number): Owner {
  const log = (): void => undefined;
  const command = [
    process.execPath,
    DIE_HOST,
    "--backend",
    "soft",
    "--dies",
    String(dies),
  ] as const;
  return createOwner({
    log,
    baseModule: BASE_MODULE,
    clock: systemClock,
    journal: noJournal,
    board: createDirectBoard({ dies }),
    launchHost: createHostLauncher({ command: [...command], log }),
    workTimeoutMs: 10_000,
  });
}
