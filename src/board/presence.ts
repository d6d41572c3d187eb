/** Asks a die's configuration space whether it is there. */
import { ok } from "../base/mod.ts";
import { boardStep, type StepOutcome } from "./board-step.ts";
import type { Presence } from "./board.ts";
import type { StepRunner } from "./step-runner.ts";

/** How a die is asked: the question can hang with it. */
export type PresenceTools = { readonly looks: StepRunner; readonly timeoutMs: number };

/** Asks the PCI function of that name in sysfs. */
export async function askPresence(
  { looks, timeoutMs }: PresenceTools,
  name: string,
): Promise<StepOutcome<Presence>> {
  const at = { call: "presence", name: "config read", timeoutMs } as const;
  const looked = await boardStep(looks, at, { name });
  return looked.ok ? ok(looked.value.presence) : looked;
}
