/** Whether a die answers on the bus, asked in a process for steps: a config read can hang. */
import type { Presence } from "./board.ts";
import { boardStep, type StepTimeouts } from "./board-step.ts";
import type { StepRunner } from "./step-runner.ts";

/** `name` is the die's address as sysfs spells it; undefined where the die has none. */
export async function presenceOf(
  steps: StepRunner,
  name: string | undefined,
  timeouts: StepTimeouts,
): Promise<Presence> {
  if (name === undefined) return "unknown";
  const at = { call: "presence", name: "config read", timeoutMs: timeouts.presenceMs } as const;
  const looked = await boardStep(steps, at, { name });
  return looked.ok ? looked.value.presence : "unknown";
}
