/** Puts an owner together: the board, the die hosts, the journal. The one place that chooses. */
import { err, ok, systemClock, type Log, type Result } from "../base/mod.ts";
import {
  BAR_SWAP_PATH,
  checkSlotDevice,
  createBarSwapBoard,
  createDirectBoard,
  createSimBoard,
  createSimMachine,
  createStepLauncher,
  openSimBoard,
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
import { machineInRealTime } from "../sim/mod.ts";
import { readScenario } from "./scenario-file.ts";
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
    const { backend, log, timeoutMs, stateDirectory, fault = null } = request;
    if (fault !== null && backend !== "soft") {
      const message = `faults are made in the software GPU only: use --backend soft`;
      return Promise.resolve(err({ code: "not_supported", message }));
    }
    const board = boardFor(request, options);
    if (!board.ok) return Promise.resolve(board);
    const { hostDies } = board.value;
    const hostFlags = ["--backend", backend, "--dies", String(hostDies)];
    if (fault !== null) hostFlags.push("--fault", `${fault.kind}:${fault.seed}`);
    const launchHost = createHostLauncher({ command: [...dieHostCommand, ...hostFlags], log });
    const owner = createOwner({
      board: board.value.board,
      log,
      clock: systemClock,
      workTimeoutMs: timeoutMs,
      windowPolicy: {
        minimumHoldMs: request.holdMs ?? DEFAULT_WINDOW_POLICY.minimumHoldMs,
        maximumWaitMs: request.waitMs ?? DEFAULT_WINDOW_POLICY.maximumWaitMs,
      },
      launchHost: createSpareLauncher(launchHost, systemClock),
      baseModule: { name: "base.ptx", path: basePayload },
      ...openBringUpRecord({ stateDirectory, slot: request.slot, now, log }),
    });
    return Promise.resolve(ok({ owner, basePayload }));
  };
}

/** A board, and how many dies a software GPU is to have for it. */
type WiredBoard = { readonly board: Board; readonly hostDies: number };

function boardFor(
  request: OwnerRequest,
  options: WiringOptions,
): Result<WiredBoard, OwnerRequestError> {
  const { slot, dies, log, scenario } = request;
  const hostDies = dies ?? DIES_DEFAULT;
  if (scenario !== undefined) return scenarioBoard(request, scenario);
  switch (slot) {
    case "direct":
      return ok({
        board: createDirectBoard({ dies, hardware: directHardware(log, options) }),
        hostDies,
      });
    case "sim": {
      const clock = systemClock;
      const board = createSimBoard({ dies: hostDies, clock, acquireMs: SIM_ACQUIRE_MS });
      return ok({ board, hostDies });
    }
    case "bar_swap": {
      const board = barSwapBoard(log, options);
      return board.ok ? ok({ board: board.value, hostDies }) : board;
    }
  }
}

/** The board of a scenario's machine, in real time and with real die hosts. */
function scenarioBoard(
  { slot, dies, log }: OwnerRequest,
  path: string,
): Result<WiredBoard, OwnerRequestError> {
  const refuse = (message: string): Result<never, OwnerRequestError> =>
    err({ code: "not_supported", message });
  if (slot !== "sim") return refuse("a scenario is of a simulated machine: use --slot sim");
  if (dies !== null) return refuse("the scenario says how many dies there are: leave out --dies");
  const scenario = readScenario(path);
  if (!scenario.ok) return refuse(scenario.error);
  const { spec, leftOut } = machineInRealTime(scenario.value.machine);
  if (leftOut.length > 0)
    log(`scenario ${path}: only 'holdfast sim' plays the faults ${leftOut.join(", ")}`);
  const machine = createSimMachine({ spec, clock: systemClock });
  const board = openSimBoard(machine, systemClock);
  return ok({ board, hostDies: spec.boards * spec.diesPerBoard });
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
