/**
 * For tests of the driver's binding: three dies over a kernel of the tests' own, which behaves as
 * the real one was measured to.
 */
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { VirtualClock } from "../base/mod.ts";
import type { BoardDie, DriverBinding } from "./board.ts";
import { STEP_TIMEOUTS, type StepOutcome } from "./board-step.ts";
import { createPciDriver } from "./pci-driver.ts";
import { readDriver, readOverride } from "./pci-function.ts";
import { createStepRunner } from "./step-runner.ts";
import { createTreeKernel, MODPROBE, type TreeKernel } from "./testing-kernel.ts";
import {
  addFunction,
  bindInTree,
  createSysTree,
  type SysTree,
  type TreeFunction,
} from "./testing.ts";

const ADDRESSES = ["0000:05:00.0", "0000:06:00.0", "0000:07:00.0"] as const;
export const OWNER_PID = 500;

export class DriverBench {
  readonly tree: SysTree = createSysTree();
  readonly kernel: TreeKernel = createTreeKernel(this.tree, ADDRESSES);
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  readonly driver: DriverBinding;
  occupant: number | null = 0;

  constructor(functions: readonly TreeFunction[] = [{}, {}, {}]) {
    const { tree, kernel, clock } = this;
    functions.forEach((given, die) => addFunction(tree, addressOf(die), given));
    this.modprobe(MODPROBE);
    const dies = functions.map((_, die): BoardDie => ({ die, address: addressOf(die), name: "" }));
    const { launch } = kernel;
    const steps = createStepRunner({ launch, clock, root: tree.root, idleMs: null });
    this.driver = createPciDriver({
      root: tree.root,
      steps,
      presence: { looks: steps, timeoutMs: STEP_TIMEOUTS.presenceMs },
      timeouts: STEP_TIMEOUTS,
      clock,
      log: (line) => this.log.push(line),
      ownerPid: OWNER_PID,
      dies: () => dies,
      occupant: () => this.occupant,
    });
  }

  modprobe(script: string): void {
    this.tree.write("usr/sbin/modprobe", script);
    chmodSync(join(this.tree.root, "usr/sbin/modprobe"), 0o755);
  }

  /** As after another owner: the module is live and has these dies. */
  loaded(...dies: readonly number[]): this {
    this.tree.write("sys/module/nvidia/initstate", "live\n");
    this.tree.write("sys/bus/pci/drivers/nvidia/bind", "");
    this.tree.write("sys/bus/pci/drivers/nvidia/unbind", "");
    for (const die of dies) bindInTree(this.tree, addressOf(die), "nvidia");
    return this;
  }

  async settled<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    void promise.then(() => (isDone = true));
    assert.equal(await this.clock.run(() => isDone, Infinity), "done");
    return promise;
  }

  async succeeds(step: Promise<StepOutcome<void>>): Promise<void> {
    const done = await this.settled(step);
    assert.ok(done.ok, done.ok ? "" : done.error.message);
  }

  async fails(step: Promise<StepOutcome<void>>, verdict: string, message: RegExp): Promise<void> {
    const done = await this.settled(step);
    assert.ok(!done.ok, "it succeeded");
    assert.match(done.error.message, message);
    assert.equal(done.error.verdict, verdict, done.error.message);
  }

  overrides(): readonly (string | null)[] {
    return ADDRESSES.map((name) => readOverride(this.tree.root, name));
  }

  drivers(): readonly (string | null)[] {
    return ADDRESSES.map((name) => readDriver(this.tree.root, name));
  }

  /** How often a step was taken whose text holds this. */
  count(text: string): number {
    return this.kernel.steps.filter((step) => step.includes(text)).length;
  }
}

export const addressOf = (die: number): string => ADDRESSES[die] ?? "0000:1f:00.0";

export async function withBench(
  body: (bench: DriverBench) => Promise<void>,
  functions?: readonly TreeFunction[],
): Promise<void> {
  const bench = new DriverBench(functions);
  try {
    await body(bench);
  } finally {
    bench.tree.end();
  }
}

export const BLOCKED = "holdfast-blocked";

export const overridePath = (die: number): string =>
  `sys/bus/pci/devices/${addressOf(die)}/driver_override`;
