/** Whether a die answers on the bus, asked in a process for steps: a config read can hang. */
import { ok } from "../base/mod.ts";
import type { Presence } from "./board.ts";
import { boardStep, type StepOutcome } from "./board-step.ts";
import type { StepRunner } from "./step-runner.ts";

/** How a die is asked: by whom, and how long that may take. */
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

/** As askPresence, where it matters not why it cannot be said; without a name nobody is asked. */
export async function presenceOf(
  tools: PresenceTools,
  name: string | undefined,
): Promise<Presence> {
  if (name === undefined) return "unknown";
  const asked = await askPresence(tools, name);
  return asked.ok ? asked.value : "unknown";
}
