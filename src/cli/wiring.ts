/** Puts an owner together: the board, the die hosts, the journal. The one place that chooses. */
import { err, ok, systemClock, type Log, type Result } from "../base/mod.ts";
import {
  BAR_SWAP_PATH,
  checkSlotDevice,
  createBarSwapBoard,
  createDirectBoard,
  createSimBoard,
  createStepLauncher,
  type Board,
  type DirectHardware,
} from "../board/mod.ts";
import {
  createHostLauncher,
  createOwner,
  createSpareLauncher,
  DEFAULT_WINDOW_POLICY,
} from "../owner/mod.ts";
import { openBringUpRecord } from "./bring-up-record.ts";
import type { OpenOwner, OwnerRequest, OwnerRequestError } from "./open-owner.ts";

/** Dies of the software GPU and of the simulated board, unless one says otherwise. */
const DIES_DEFAULT = 2;

/** How long the simulated window takes to move: what a reprogrammed bridge window takes or so. */
const SIM_ACQUIRE_MS = 1;

export type WiringOptions = {
  /** What starts a die host; `--backend B --dies N`, and the like, is appended. */
  readonly dieHostCommand: readonly [string, ...string[]];
  /** What starts a process for a step of the board that can hang; its flags are appended. */
  readonly boardStepCommand: readonly [string, ...string[]];
  /** This process. */
  readonly pid: number;
  /** Absolute path of kernels/base.ptx. */
  readonly basePayload: string;
  readonly now: () => Date;
};

export function createOpenOwner(options: WiringOptions): OpenOwner {
  const { dieHostCommand, basePayload, now } = options;
  return (request) => {
    const { backend, dies, log, timeoutMs, stateDirectory, fault = null } = request;
    if (fault !== null && backend !== "soft") {
      const message = `faults are made in the software GPU only: use --backend soft`;
      return Promise.resolve(err({ code: "not_supported", message }));
    }
    const board = boardFor(request, options);
    if (!board.ok) return Promise.resolve(board);
    const hostFlags = ["--backend", backend, "--dies", String(dies ?? DIES_DEFAULT)];
    if (fault !== null) hostFlags.push("--fault", `${fault.kind}:${fault.seed}`);
    const launchHost = createHostLauncher({ command: [...dieHostCommand, ...hostFlags], log });
    const owner = createOwner({
      board: board.value,
      log,
      clock: systemClock,
      workTimeoutMs: timeoutMs,
      windowPolicy: {
        minimumHoldMs: request.holdMs ?? DEFAULT_WINDOW_POLICY.minimumHoldMs,
        maximumWaitMs: request.waitMs ?? DEFAULT_WINDOW_POLICY.maximumWaitMs,
      },
      launchHost: createSpareLauncher(launchHost, systemClock),
      baseModule: { name: "base.ptx", path: basePayload },
      ...openBringUpRecord({ stateDirectory, now, log }),
    });
    return Promise.resolve(ok({ owner, basePayload }));
  };
}

function boardFor(
  { slot, dies, log }: OwnerRequest,
  options: WiringOptions,
): Result<Board, OwnerRequestError> {
  switch (slot) {
    case "direct":
      return ok(createDirectBoard({ dies, hardware: directHardware(log, options) }));
    case "sim": {
      const count = dies ?? DIES_DEFAULT;
      return ok(createSimBoard({ dies: count, clock: systemClock, acquireMs: SIM_ACQUIRE_MS }));
    }
    case "bar_swap":
      return barSwapBoard(log, options);
  }
}

/** The machine's own file system, and nothing that stands for it. */
const ROOT = "/";

const directHardware = (log: Log, { boardStepCommand }: WiringOptions): DirectHardware => ({
  root: ROOT,
  launchStep: createStepLauncher({ command: [...boardStepCommand, "--root", ROOT], log }),
  clock: systemClock,
  log,
});

function barSwapBoard(
  log: Log,
  { boardStepCommand, pid }: WiringOptions,
): Result<Board, OwnerRequestError> {
  const ready = checkSlotDevice(ROOT, BAR_SWAP_PATH);
  if (!ready.ok) return err({ code: "no_device", message: ready.error });
  const flags = ["--root", ROOT, "--slot-device", BAR_SWAP_PATH];
  return ok(
    createBarSwapBoard({
      root: ROOT,
      devicePath: BAR_SWAP_PATH,
      launchStep: createStepLauncher({ command: [...boardStepCommand, ...flags], log }),
      clock: systemClock,
      log,
      ownerPid: pid,
    }),
  );
}
