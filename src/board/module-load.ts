/** Loading a kernel module, once, and the proof that it is there. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ok, type EventClock, type Log } from "../base/mod.ts";
import { boardStep, refused, type StepOutcome, type StepTimeouts } from "./board-step.ts";
import type { StepRunner } from "./step-runner.ts";
import { readText } from "./sysfs.ts";

/**
 * Where a module stands: `live` is loaded, `coming` is in its own start and `going` in its end, as
 * /sys/module/<name>/initstate has it; null where it is not there.
 */
export type ModuleState = "live" | "coming" | "going";

export function moduleState(root: string, module: string): ModuleState | null {
  const text = readText(root, `sys/module/${module}/initstate`);
  return text === "live" || text === "coming" || text === "going" ? text : null;
}

/** How often a module on its way is looked at. */
const STATE_POLL_MS = 50;

/** Where a program of root's is: PATH may lack these for who is not. */
const PROGRAM_FOLDERS = ["usr/sbin", "sbin", "usr/bin", "bin", "usr/local/sbin"];

const findProgram = (root: string, name: string): string | null =>
  PROGRAM_FOLDERS.map((folder) => join(root, folder, name)).find((path) => existsSync(path)) ??
  null;

export type ModuleTools = {
  readonly root: string;
  readonly steps: StepRunner;
  readonly timeouts: StepTimeouts;
  readonly clock: EventClock;
  readonly log: Log;
};

/**
 * Loads the module where it is not there, and waits until it is live. One that somebody else has
 * loaded, or is loading, is not loaded again: a second modprobe says nothing and does nothing.
 */
export async function loadModule(module: string, tools: ModuleTools): Promise<StepOutcome<void>> {
  const { root, log } = tools;
  const before = moduleState(root, module);
  if (before !== null) {
    log(` ${module} is ${before} already, by somebody else's modprobe`);
    const settled = await settle(module, tools, before === "going" ? null : "live");
    if (settled === "live") return ok(undefined);
    if (settled !== null) return stillUnderWay(module, settled);
  }
  const failure = await modprobe(module, tools);
  if (failure !== null) return failure;
  const after = await settle(module, tools, "live");
  if (after === "live") return ok(undefined);
  if (after !== null) return stillUnderWay(module, after);
  return refused(
    `modprobe ${module}`,
    `modprobe said that it loaded ${module}, and there is no /sys/module/${module}: an install ` +
      "line in /etc/modprobe.d may stand in for it",
  );
}

/** Runs modprobe; null where it says that all went well. */
async function modprobe(module: string, tools: ModuleTools): Promise<StepOutcome<never> | null> {
  const { root, steps, timeouts } = tools;
  const name = `modprobe ${module}`;
  const path = findProgram(root, "modprobe");
  if (path === null) {
    return refused(name, "there is no modprobe in /usr/sbin or /sbin; install kmod");
  }
  const at = { call: "program", name, timeoutMs: timeouts.loadMs } as const;
  const run = await boardStep(steps, at, { path, args: [module] });
  if (!run.ok) return run;
  const { status, signal, output } = run.value;
  if (status === 0) return null;
  const how = signal === null ? `ended with code ${String(status)}` : `was ended by ${signal}`;
  return refused(name, `it ${how}: ${oneLine(output)}`);
}

/** Waits until the module is what is hoped for, or gone, as long as a load may take. */
async function settle(
  module: string,
  { root, clock, timeouts }: ModuleTools,
  hoped: "live" | null,
): Promise<ModuleState | null> {
  const untilMs = clock.nowMs() + timeouts.loadMs;
  for (;;) {
    const state = moduleState(root, module);
    if (state === hoped || state === null || clock.nowMs() >= untilMs) return state;
    if (state === "live" && hoped === null) return state;
    await clock.sleep(STATE_POLL_MS);
  }
}

const stillUnderWay = (module: string, state: ModuleState): StepOutcome<never> =>
  refused(
    `modprobe ${module}`,
    `${module} has been ${state} all this time: its own start or end is stuck, see \`dmesg\``,
  );

/** modprobe's last words, which name the reason; the lines before repeat the path. */
const oneLine = (text: string): string =>
  text.split("\n").slice(-3).join(" ").trim() || "it said nothing";
