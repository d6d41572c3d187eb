/**
 * The bring-up ladder: from a die in the slot to a context that answers. A rung that fails puts
 * back what was written to the board.
 */
import { err, ok, type Result } from "../base/mod.ts";
import type { CountedDevice } from "../board/mod.ts";
import { WORK_ELEMENTS } from "../gpu/mod.ts";
import {
  rung,
  skipRung,
  STOPPED,
  type BringUpFailure,
  type BringUpTools,
} from "./bring-up-rung.ts";
import type { Die, Residence } from "./die.ts";
import type { HostFailure } from "./frames.ts";
import type { HostLink } from "./host-link.ts";
import { describeStep, type BringUpStep } from "./journal.ts";
import type { JobCause } from "./job.ts";

/** The names of the work kernel's resident buffers. */
export const WORK_INPUT = "work.input";
export const WORK_OUTPUT = "work.output";

/** Bytes of each of the work kernel's buffers. */
export const workBufferBytes = (elements = WORK_ELEMENTS): number =>
  elements * Float32Array.BYTES_PER_ELEMENT;

/** The step that has taken hosts down, so that it is seen from afar in a log. */
const BIND_TEXT = ">>> binding it to nvidia, other dies stay bound <<<";

/**
 * Binds the driver: loads it, the first time, with all other dies blocked; later unblocks and
 * binds. What an earlier owner did is found as it is, and not done again.
 */
export function bindDie(tools: BringUpTools, die: number): Promise<Result<void, BringUpFailure>> {
  // Dies of two boards may come up at once, and would both find the driver not loaded.
  return tools.driverLock.run(() => bindAlone(tools, die));
}

async function bindAlone(tools: BringUpTools, die: number): Promise<Result<void, BringUpFailure>> {
  const { driver } = tools.board;
  const isLoaded = driver.isLoaded();
  if (isLoaded && driver.isBound(die)) {
    const isDirect = tools.board.slotKind === "direct";
    const why = isDirect
      ? "every die is bound as it is found"
      : "nvidia is loaded, and has the die";
    skipRung(tools, { die, step: "load-driver" }, why);
    return ok(undefined);
  }
  const steps = isLoaded
    ? ([
        ["unblock", () => driver.unblock(die)],
        ["bind", () => driver.bind(die)],
      ] as const)
    : ([
        ["block-all-except", () => driver.blockAllExcept(die)],
        ["load-driver", () => driver.load()],
      ] as const);
  for (const [step, action] of steps) {
    const text = step === "bind" ? BIND_TEXT : describeStep(step);
    const done = await rung(tools, { die, step, text }, action);
    if (done.ok) continue;
    // Who ends a climb on purpose goes on from here later, and finds what was done.
    if (done.error.cause.name !== STOPPED) await driver.restore(die);
    return done;
  }
  return ok(undefined);
}

/** The die's ordinal among the devices that the driver counts in this host, found by address. */
async function findOrdinal(
  tools: BringUpTools,
  die: Die,
  link: HostLink,
): Promise<Result<number, BringUpFailure>> {
  const { number, keeper } = die;
  const at = { die: number, step: "initialise" } as const;
  let devices: Result<readonly CountedDevice[], BringUpFailure>;
  if (keeper.isInitialised()) {
    skipRung(tools, at, "this die host has opened its backend");
    const known = await keeper.initialise(link);
    devices = known.ok ? known : err({ step: "initialise", verdict: null, ...known.error });
  } else devices = await rung(tools, at, () => keeper.initialise(link));
  if (!devices.ok) return devices;
  const counted = devices.value;
  const found = (ordinal: number): string => `${ordinal} of ${counted.length}`;
  return rung(tools, { die: number, step: "ordinals", found }, () => {
    const ordinal = tools.board.ordinalOf(die.board, counted);
    return Promise.resolve(ordinal === null ? err(noOrdinal(die, counted)) : ok(ordinal));
  });
}

/** From a bound die to a resident context whose probe kernel answers right. */
export async function makeResident(
  tools: BringUpTools,
  die: Die,
  link: HostLink,
): Promise<Result<Residence, BringUpFailure>> {
  const { number } = die;
  const module = tools.baseModule;
  const bytes = workBufferBytes(tools.workElements);
  const take = <T>(
    step: BringUpStep,
    text: string,
    action: () => Promise<Result<T, HostFailure>>,
  ): Promise<Result<T, BringUpFailure>> => rung(tools, { die: number, step, text }, action);

  const found = await findOrdinal(tools, die, link);
  if (!found.ok) return found;
  const ordinal = found.value;
  const text = `creating a context on ordinal ${String(ordinal)}`;
  const context = await take("context", text, () => link.call("context", { die: number, ordinal }));
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

/** The name of the cause where the driver does not count the die. */
export const NO_ORDINAL = "no_ordinal";

const noOrdinal = (die: Die, counted: readonly CountedDevice[]): HostFailure => ({
  kind: "refused",
  cause: {
    name: NO_ORDINAL,
    code: 100,
    call: "cuDeviceGetCount",
    message: `the driver counts ${counted.length} devices, none of them ${die.board.address}`,
  },
});
