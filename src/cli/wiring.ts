/** Puts an owner together: the board, the die hosts, the journal. The one place that chooses. */
import { err, ok, systemClock } from "../base/mod.ts";
import { createDirectBoard, createSimBoard, type Board } from "../board/mod.ts";
import { createHostLauncher, createOwner, createSpareLauncher } from "../owner/mod.ts";
import { openBringUpRecord } from "./bring-up-record.ts";
import type { OpenOwner, OwnerRequest } from "./open-owner.ts";

/** Dies of the software GPU and of the simulated board, unless one says otherwise. */
const DIES_DEFAULT = 2;

/** How long the simulated window takes to move: what a reprogrammed bridge window takes or so. */
const SIM_ACQUIRE_MS = 1;

export type WiringOptions = {
  /** What starts a die host; `--backend B --dies N`, and the like, is appended. */
  readonly dieHostCommand: readonly [string, ...string[]];
  /** Absolute path of kernels/base.ptx. */
  readonly basePayload: string;
  readonly now: () => Date;
};

export function createOpenOwner(options: WiringOptions): OpenOwner {
  const { dieHostCommand, basePayload, now } = options;
  return (request) => {
    const board = boardFor(request);
    if (board === null) {
      const mend = "use --slot direct, or --slot sim to try a single window";
      const message = `--slot bar_swap is not supported by this version; ${mend}`;
      return Promise.resolve(err({ code: "not_supported", message }));
    }
    const { backend, dies, log, timeoutMs, stateDirectory, fault = null } = request;
    if (fault !== null && backend !== "soft") {
      const message = `faults are made in the software GPU only: use --backend soft`;
      return Promise.resolve(err({ code: "not_supported", message }));
    }
    const hostFlags = ["--backend", backend, "--dies", String(dies ?? DIES_DEFAULT)];
    if (fault !== null) hostFlags.push("--fault", `${fault.kind}:${fault.seed}`);
    const launchHost = createHostLauncher({ command: [...dieHostCommand, ...hostFlags], log });
    const owner = createOwner({
      board,
      log,
      clock: systemClock,
      workTimeoutMs: timeoutMs,
      launchHost: createSpareLauncher(launchHost, systemClock),
      baseModule: { name: "base.ptx", path: basePayload },
      ...openBringUpRecord({ stateDirectory, now, log }),
    });
    return Promise.resolve(ok({ owner, basePayload }));
  };
}

function boardFor({ slot, dies }: OwnerRequest): Board | null {
  switch (slot) {
    case "direct":
      return createDirectBoard({ dies });
    case "sim": {
      const count = dies ?? DIES_DEFAULT;
      return createSimBoard({ dies: count, clock: systemClock, acquireMs: SIM_ACQUIRE_MS });
    }
    case "bar_swap":
      return null;
  }
}
