/**
 * driver_override: the one driver that may have a PCI function. Writing it binds and unbinds
 * nothing. It is cleared by a newline (a write of nothing never reaches the kernel), and what was
 * written is read back.
 */
import { err, ok } from "../base/mod.ts";
import { boardStep, refused, type StepOutcome } from "./board-step.ts";
import { overrideOf, overridePath } from "./pci-function.ts";
import type { StepRunner } from "./step-runner.ts";

/** No driver is called this: a die with it is left alone, and is known to be blocked by us. */
export const BLOCKED_OVERRIDE = "holdfast-blocked";

const CLEAR = "\n";

/** An override that was changed, and what it was before; null is unset. */
export type OverrideChange = {
  readonly name: string;
  readonly before: string | null;
};

export type OverrideTools = { readonly steps: StepRunner; readonly timeoutMs: number };

/** The override of a function; null where it has none. */
export async function askOverride(
  { steps, timeoutMs }: OverrideTools,
  name: string,
): Promise<StepOutcome<string | null>> {
  const at = { call: "read", name: "read driver_override", timeoutMs } as const;
  const read = await boardStep(steps, at, { path: overridePath(name) });
  return read.ok ? ok(overrideOf(read.value.text)) : read;
}

/** Writes an override, null to clear it, and reads it back. */
export async function writeOverride(
  tools: OverrideTools,
  name: string,
  value: string | null,
): Promise<StepOutcome<void>> {
  const { steps, timeoutMs } = tools;
  const at = { call: "write", name: "write driver_override", timeoutMs } as const;
  const body = { path: overridePath(name), text: value === null ? CLEAR : `${value}\n` };
  const written = await boardStep(steps, at, body);
  if (!written.ok) return written;
  const now = await askOverride(tools, name);
  if (!now.ok) return now;
  if (now.value === value) return ok(undefined);
  return refused(at.name, `${name}: wrote ${textOf(value)} and read back ${textOf(now.value)}`);
}

const textOf = (value: string | null): string => (value === null ? "none" : `'${value}'`);

/**
 * Blocks a function, or with null lets any driver have it. Null where it was so already. Somebody
 * else's override is not ours to overwrite.
 */
export async function changeOverride(
  tools: OverrideTools,
  name: string,
  value: typeof BLOCKED_OVERRIDE | null,
): Promise<StepOutcome<OverrideChange | null>> {
  const before = await askOverride(tools, name);
  if (!before.ok) return before;
  if (before.value === value) return ok(null);
  if (before.value !== null && before.value !== BLOCKED_OVERRIDE) {
    return refused(
      "driver_override",
      `${name} is reserved for the driver '${before.value}', and not by us; clear that with ` +
        `\`echo > /sys/bus/pci/devices/${name}/driver_override\` if it is left over`,
    );
  }
  const written = await writeOverride(tools, name, value);
  if (written.ok) return ok({ name, before: before.value });
  // A write that did not hold is undone as far as it can be; one that hung is left to itself.
  if (written.error.verdict !== "hung") await writeOverride(tools, name, before.value);
  return err(written.error);
}
