/**
 * The bring-up ladder: from a die in the slot to a context that answers. Each rung is journalled
 * and logged before it runs; a rung that fails puts back what was written to the board.
 */
import { err, ok, type Log, type Result } from "../base/mod.ts";
import type { Board, BoardFailure } from "../board/mod.ts";
import { WORK_ELEMENTS } from "../gpu/mod.ts";
import type { Die, Residence } from "./die.ts";
import type { HostFailure } from "./frames.ts";
import type { HostLink } from "./host-link.ts";
import type { BringUpStep, Journal } from "./journal.ts";
import type { JobCause, ModuleReference } from "./job.ts";

/** The names of the work kernel's resident buffers. */
export const WORK_INPUT = "work.input";
export const WORK_OUTPUT = "work.output";

/** Bytes of each of the work kernel's buffers. */
export const workBufferBytes = (elements = WORK_ELEMENTS): number =>
  elements * Float32Array.BYTES_PER_ELEMENT;

/** A rung that failed. `kind: "lost"` says that the die's context, or host, went with it. */
export type BringUpFailure = {
  readonly step: BringUpStep;
  readonly kind: "refused" | "lost";
  readonly cause: JobCause;
};

export type BringUpTools = {
  readonly board: Board;
  readonly baseModule: ModuleReference;
  readonly log: Log;
  readonly journal: Journal;
  /** Elements of the standing work; WORK_ELEMENTS where it is left out. */
  readonly workElements?: number;
};

const boardCause = (failure: BoardFailure): JobCause => ({
  name: "board",
  code: 0,
  call: failure.call,
  message: failure.message,
});

/** Runs one rung: journal and log first, then the action, then its outcome into the journal. */
export async function rung<T>(
  tools: Pick<BringUpTools, "log" | "journal">,
  at: { readonly die: number; readonly step: BringUpStep; readonly text: string },
  action: () => Promise<Result<T, HostFailure | BoardFailure>>,
): Promise<Result<T, BringUpFailure>> {
  const { die, step } = at;
  tools.journal.write({ die, step, phase: "begin" });
  tools.log(` die ${String(die)}: ${at.text}...`);
  const done = await action();
  if (done.ok) {
    tools.journal.write({ die, step, phase: "done" });
    return done;
  }
  const failure =
    "kind" in done.error ? done.error : { kind: "refused" as const, cause: boardCause(done.error) };
  const { name, call, message } = failure.cause;
  tools.journal.write({ die, step, phase: "failed", detail: message });
  tools.log(` die ${String(die)}: ${call} FAILED (${name}): ${message}`);
  return err({ step, ...failure });
}

/**
 * Binds the driver: loads it, the first time, with all other dies blocked; later unblocks and
 * binds.
 */
export async function bindDie(
  tools: BringUpTools,
  die: number,
): Promise<Result<void, BringUpFailure>> {
  const { driver } = tools.board;
  if (driver.isBound(die)) return ok(undefined);
  const steps = driver.isLoaded()
    ? ([
        ["unblock", "unblocking its driver_override", () => driver.unblock(die)],
        ["bind", ">>> binding it to nvidia, other dies stay bound <<<", () => driver.bind(die)],
      ] as const)
    : ([
        [
          "block-all-except",
          "blocking every other die by driver_override",
          () => driver.blockAllExcept(die),
        ],
        ["load-driver", "loading nvidia, once", () => driver.load()],
      ] as const);
  for (const [step, text, action] of steps) {
    const done = await rung(tools, { die, step, text }, action);
    if (!done.ok) {
      await driver.restore(die);
      tools.log(` die ${String(die)}: driver_override put back as it was`);
      return done;
    }
  }
  return ok(undefined);
}

/** From a bound die to a resident context whose probe kernel answers right. */
export async function makeResident(
  tools: BringUpTools,
  die: Die,
  link: HostLink,
): Promise<Result<Residence, BringUpFailure>> {
  const { number, keeper } = die;
  const module = tools.baseModule;
  const bytes = workBufferBytes(tools.workElements);
  const take = <T>(
    step: BringUpStep,
    text: string,
    action: () => Promise<Result<T, HostFailure>>,
  ): Promise<Result<T, BringUpFailure>> => rung(tools, { die: number, step, text }, action);

  const devices = await take("initialise", "opening the backend (cuInit)", () =>
    keeper.initialise(link),
  );
  if (!devices.ok) return devices;
  const ordinal = tools.board.ordinalOf(die.board, devices.value);
  if (ordinal === null) return err(noOrdinal(die, devices.value.length));
  const context = await take("context", `creating a context on ordinal ${String(ordinal)}`, () =>
    link.call("context", { die: number, ordinal }),
  );
  if (!context.ok) return context;
  const loaded = await take("module", `loading ${module.name}`, () =>
    link.call("module", { die: number, module }),
  );
  if (!loaded.ok) return loaded;
  const addresses = await take("buffers", "allocating resident buffers", async () => {
    const input = await link.call("resident", {
      die: number,
      buffer: WORK_INPUT,
      bytes,
    });
    if (!input.ok) return input;
    const output = await link.call("resident", {
      die: number,
      buffer: WORK_OUTPUT,
      bytes,
    });
    return output.ok
      ? ok([BigInt(input.value.address), BigInt(output.value.address)] as const)
      : output;
  });
  if (!addresses.ok) return addresses;
  const probe = await take("probe", "running the probe kernel", async () => {
    const answer = await link.call("probe", { die: number, module });
    if (!answer.ok) return answer;
    return answer.value.right ? ok(undefined) : err({ kind: "lost", cause: wrongAnswer } as const);
  });
  if (!probe.ok) return probe;
  const [inputAddress, outputAddress] = addresses.value;
  return ok({ ordinal, device: context.value.device, inputAddress, outputAddress });
}

/** The cause when a probe kernel ran and its answer was wrong, or did not come in time. */
export const wrongAnswer: JobCause = {
  name: "probe_wrong",
  code: 0,
  call: "probe",
  message: "the probe kernel gave a wrong answer or none in time; the die computes wrongly",
};

const noOrdinal = (die: Die, counted: number): BringUpFailure => ({
  step: "initialise",
  kind: "refused",
  cause: {
    name: "no_ordinal",
    code: 100,
    call: "cuDeviceGetCount",
    message: `the driver counts ${counted} devices, none of them ${die.board.address}`,
  },
});
