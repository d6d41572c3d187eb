/** `holdfast doctor`: what stands in the way, and the mend. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createProcessProber,
  createRecordedProber,
  diagnose,
  gatherFacts,
  reportLines,
  type Diagnosis,
  type Facts,
} from "../doctor/mod.ts";
import type { CommandFunction } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { BACKENDS, SLOTS } from "./open-owner.ts";
import type { Surroundings } from "./surroundings.ts";

export type DoctorFlags = {
  readonly slot: (typeof SLOTS)[number] | undefined;
  readonly backend: (typeof BACKENDS)[number];
  readonly stateDir: string | undefined;
  readonly root: string;
  readonly json: boolean;
};

/** A driver that starts eight dies without the persistence daemon takes some ten seconds. */
const PROBE_TIMEOUT_MS = 15_000;

const EXIT_OF: Readonly<Record<Diagnosis["verdict"], ExitCode>> = {
  well: EXIT.ok,
  warned: EXIT.ok,
  in_the_way: EXIT.checkFailed,
  no_device: EXIT.noDevice,
};

/** What every tree of a machine has; without them all checks would find nothing, and say so. */
const ROOT_FOLDERS = ["sys", "proc"] as const;

export const doctorCommand: CommandFunction<DoctorFlags> = async (surroundings, flags) => {
  const root = resolve(surroundings.workingDirectory, flags.root);
  const missing = ROOT_FOLDERS.find((name) => !isFolder(join(root, name)));
  if (missing !== undefined) {
    surroundings.errors.write(
      `holdfast: --root ${flags.root}: there is no folder ${join(root, missing)}; ` +
        "name a folder that holds a machine's sys and proc\n",
    );
    return EXIT.badUsage;
  }
  const diagnosis = diagnose(await gather(surroundings, flags));
  const text = flags.json ? JSON.stringify(diagnosis) : reportLines(diagnosis).join("\n");
  surroundings.output.write(`${text}\n`);
  return EXIT_OF[diagnosis.verdict];
};

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** A recorded tree has none of this process's environment, and is asked nothing. */
function gather(surroundings: Surroundings, flags: DoctorFlags): Promise<Facts> {
  const { workingDirectory, stateDirectory, host, program } = surroundings;
  const root = resolve(workingDirectory, flags.root);
  const isLive = root === "/";
  const stateDir = flags.stateDir ?? join(root, stateDirectory);
  const probeMain = fileURLToPath(new URL("./doctor-probe-main.js", import.meta.url));
  const [node, ...options] = program;
  return gatherFacts({
    root,
    stateDirectory: resolve(workingDirectory, stateDir),
    asked: { slot: flags.slot ?? null, backend: flags.backend },
    environment: isLive ? surroundings.environment : {},
    nodeVersion: host.nodeVersion,
    architecture: host.architecture,
    user: { uid: host.uid, groups: host.groups },
    pid: host.pid,
    prober: isLive
      ? createProcessProber({
          command: [node, ...options.slice(0, -1), probeMain],
          timeoutMs: PROBE_TIMEOUT_MS,
        })
      : createRecordedProber(root),
  });
}
