/**
 * Which dies NVIDIA's driver has. It is loaded with all dies but one blocked, since a die outside
 * the window must not be probed; each further die is unblocked, then bound. What the kernel says it
 * did is believed only once the `driver` link shows it.
 */
import { createMutex, err, ok, type EventClock, type Log } from "../base/mod.ts";
import type { BoardDie, DriverBinding, Holder } from "./board.ts";
import { boardStep, lost, refused, type StepOutcome, type StepTimeouts } from "./board-step.ts";
import {
  BLOCKED_OVERRIDE,
  changeOverride,
  writeOverride,
  type OverrideChange,
  type OverrideTools,
} from "./driver-override.ts";
import { describeHolders, findHolders, type DieHolder } from "./holders.ts";
import { HungSteps } from "./hung-steps.ts";
import { readDriver } from "./pci-function.ts";
import { askPresence, type PresenceTools } from "./presence.ts";
import { loadModule, moduleState } from "./module-load.ts";
import type { StepRunner } from "./step-runner.ts";

/** The module, and the PCI driver that it registers. */
const NVIDIA = "nvidia";
const DRIVER_FOLDER = `sys/bus/pci/drivers/${NVIDIA}`;

export type PciDriverOptions = {
  /** `/`, or a folder that stands for it. */
  readonly root: string;
  readonly steps: StepRunner;
  readonly presence: PresenceTools;
  readonly timeouts: StepTimeouts;
  readonly clock: EventClock;
  readonly log: Log;
  /** The owner: its die hosts are its children, and no strangers. */
  readonly ownerPid: number;
  /** The board's dies, as far as they are known. */
  readonly dies: () => readonly BoardDie[];
  /** The die in the window. */
  readonly occupant: () => number | null;
};

/** How long processes of our own are given to close a die: the kernel is still ending them. */
const OWN_HOLDERS_GO_MS = 5000;
const HOLDERS_POLL_MS = 50;

export function createPciDriver(options: PciDriverOptions): DriverBinding {
  const driver = new PciDriver(options);
  return {
    isLoaded: () => moduleState(options.root, NVIDIA) === "live",
    isBound: (die) => driver.isBound(die),
    blockAllExcept: (die) => driver.inTurn(() => driver.blockAllExcept(die)),
    load: () => driver.inTurn(() => driver.load()),
    unblock: (die) => driver.inTurn(() => driver.unblock(die)),
    bind: (die) => driver.inTurn(() => driver.bind(die)),
    unbind: (die) => driver.inTurn(() => driver.unbind(die)),
    holders: (die) => Promise.resolve(driver.holders(die)),
    restore: (die) => driver.inTurn(() => driver.restore(die)),
  };
}

class PciDriver {
  readonly #options: PciDriverOptions;
  readonly #turn = createMutex();
  /** What each die's bring-up step has written, in order, until that step has worked out. */
  readonly #changes = new Map<number, OverrideChange[]>();
  readonly #hung: HungSteps;
  readonly inTurn = this.#turn.run;

  constructor(options: PciDriverOptions) {
    this.#options = options;
    this.#hung = new HungSteps(options.root);
  }

  /** The kernel shows the link while a probe is still under way: one that hangs has no die yet. */
  isBound(die: number): boolean {
    const found = this.#find(die);
    if (found === null || this.#hung.on(found) !== null) return false;
    return this.#driverOf(found.address) === NVIDIA;
  }

  async blockAllExcept(die: number): Promise<StepOutcome<void>> {
    this.#changes.set(die, []);
    const found = this.#find(die);
    if (found === null) return noSuchDie(die);
    const loading = this.#hung.inLoad();
    if (loading !== null) return err(loading);
    const opened = await this.#open(found);
    if (!opened.ok) return opened;
    for (const each of this.#options.dies()) {
      if (each.die === die) continue;
      const blocked = await this.#block(die, each);
      if (!blocked.ok) return blocked;
    }
    return ok(undefined);
  }

  /** Lets the driver have the die: what an earlier run may have left in its way goes. */
  async #open(die: BoardDie): Promise<StepOutcome<void>> {
    const driver = this.#driverOf(die.address);
    if (driver !== null && driver !== NVIDIA) return takenBy("load-driver", driver, die.address);
    return this.#change(die.die, die, null);
  }

  async #block(forDie: number, die: BoardDie): Promise<StepOutcome<void>> {
    const driver = this.#driverOf(die.address);
    if (driver !== null) {
      // Loading a driver does not take a function from the one that has it.
      this.#options.log(` die ${die.die}: not blocked, ${driver} has it already`);
      return ok(undefined);
    }
    return this.#change(forDie, die, BLOCKED_OVERRIDE);
  }

  async #change(
    forDie: number,
    die: BoardDie,
    value: typeof BLOCKED_OVERRIDE | null,
  ): Promise<StepOutcome<void>> {
    const stuck = this.#hung.on(die);
    if (stuck !== null) return err(stuck);
    const changed = await changeOverride(this.#overrides(), die.address, value);
    if (!changed.ok) return this.#hung.note(die.die, changed);
    if (changed.value !== null) this.#changes.get(forDie)?.push(changed.value);
    return ok(undefined);
  }

  async load(): Promise<StepOutcome<void>> {
    const die = this.#dieInWindow();
    const loading = this.#hung.inLoad();
    if (loading !== null) return err(loading);
    const loaded = await loadModule(NVIDIA, this.#options);
    if (!loaded.ok) this.#hung.noteLoad(loaded.error);
    // The one die that is not blocked is the one in whose probe it hangs.
    if (!loaded.ok) return die === null ? loaded : this.#hung.note(die.die, loaded);
    if (die === null || this.#driverOf(die.address) === NVIDIA) {
      for (const each of this.#options.dies())
        if (die !== each && this.isBound(each.die))
          this.#options.log(` die ${each.die}: nvidia has it too`);
      if (die !== null) this.#changes.delete(die.die);
      return ok(undefined);
    }
    return refused(
      `modprobe ${NVIDIA}`,
      `${NVIDIA} is loaded and did not take ${die.address}; the kernel's log says why (\`dmesg\`)`,
    );
  }

  async unblock(die: number): Promise<StepOutcome<void>> {
    this.#changes.set(die, []);
    const found = this.#find(die);
    if (found === null) return noSuchDie(die);
    const loading = this.#hung.inLoad();
    return loading === null ? this.#open(found) : err(loading);
  }

  async bind(die: number): Promise<StepOutcome<void>> {
    const found = this.#reach(die);
    if (!found.ok) return found;
    const { address } = found.value;
    const before = this.#driverOf(address);
    if (before === NVIDIA) return ok(undefined);
    if (before !== null) return takenBy("bind", before, address);
    const ready = await this.#mayBind(found.value);
    if (!ready.ok) return ready;
    const { steps, timeouts } = this.#options;
    const at = {
      call: "write",
      name: "bind",
      timeoutMs: timeouts.bindMs,
      meanings: BIND_MEANINGS,
    } as const;
    const body = { path: `${DRIVER_FOLDER}/bind`, text: address };
    const bound = this.#hung.note(die, await boardStep(steps, at, body));
    // The link is there from the beginning of a probe on: it proves nothing of one that hangs.
    if (!bound.ok && bound.error.verdict === "hung") return bound;
    const after = this.#driverOf(address);
    if (after === NVIDIA) {
      this.#changes.delete(die);
      return ok(undefined);
    }
    if (!bound.ok) return bound;
    if (after !== null) return takenBy("bind", after, address);
    return refused("bind", `the kernel took the bind of ${address}, and no driver has it now`);
  }

  /** A driver binds to a die that fell off the bus, or out of the window, and then hangs in it. */
  async #mayBind(die: BoardDie): Promise<StepOutcome<void>> {
    if (this.#options.occupant() !== die.die) {
      return refused("bind", `die ${die.die} is not in the slot; it is bound only while it is`);
    }
    const asked = await askPresence(this.#options.presence, die.address);
    const looked = this.#hung.note(die.die, asked);
    if (!looked.ok) return looked;
    if (looked.value === "present") return ok(undefined);
    return lost("bind", `${die.address} does not answer: it fell off the bus, and is not bound`);
  }

  async unbind(die: number): Promise<StepOutcome<void>> {
    const found = this.#reach(die);
    if (!found.ok) return found;
    const { address } = found.value;
    const before = this.#driverOf(address);
    if (before === null) return ok(undefined);
    if (before !== NVIDIA) return takenBy("unbind", before, address);
    const holders = await this.#holdersLeft(address);
    if (holders.length > 0) {
      return refused("unbind", `${describeHolders(holders)}, or the unbind would never come back`);
    }
    const { steps, timeouts } = this.#options;
    const at = { call: "write", name: "unbind", timeoutMs: timeouts.bindMs } as const;
    const body = { path: `${DRIVER_FOLDER}/unbind`, text: address };
    const done = this.#hung.note(die, await boardStep(steps, at, body));
    // The link goes before the driver is asked to let go.
    if (!done.ok && done.error.verdict === "hung") return done;
    const after = this.#driverOf(address);
    if (after === null) return ok(undefined);
    if (!done.ok) return done;
    return refused("unbind", `the kernel took the unbind of ${address}, and ${after} has it still`);
  }

  holders(die: number): readonly Holder[] {
    const found = this.#find(die);
    if (found === null) return [];
    return findHolders(this.#options.root, found.address)
      .filter((each) => !this.#isOurs(each))
      .map(({ pid, command, path }) => ({ pid, command, path }));
  }

  /** Who has it open once processes of our own have had their time to end. */
  async #holdersLeft(address: string): Promise<readonly DieHolder[]> {
    const { root, clock } = this.#options;
    const untilMs = clock.nowMs() + OWN_HOLDERS_GO_MS;
    for (;;) {
      const holders = findHolders(root, address);
      const isWorthWaiting = holders.length > 0 && holders.every((each) => this.#isOurs(each));
      if (!isWorthWaiting || clock.nowMs() >= untilMs) return holders;
      await clock.sleep(HOLDERS_POLL_MS);
    }
  }

  #isOurs({ pid, parentPid }: DieHolder): boolean {
    const { ownerPid } = this.#options;
    return pid === ownerPid || parentPid === ownerPid;
  }

  /**
   * Undoes what the die's failed step has written, the latest first. A block is lifted only where
   * no driver is there to probe the die, outside the window perhaps: not while the module is there
   * or on its way, nor while its load hangs.
   */
  async restore(die: number): Promise<void> {
    const { log } = this.#options;
    const changes = this.#changes.get(die) ?? [];
    this.#changes.delete(die);
    if (changes.length === 0) return;
    let isAll = true;
    for (const { name, before } of changes.reverse()) {
      const kept = before === BLOCKED_OVERRIDE ? null : this.#whyBlocked(die, name);
      const undone = kept === null ? await this.#undo(name, before) : kept;
      if (undone === null) continue;
      isAll = false;
      log(` ${name}: driver_override is left as it is: ${undone}`);
    }
    if (isAll) log(` die ${die}: driver_override put back as it was`);
  }

  /** Writes what was there; what is in the way of that, or null. */
  async #undo(name: string, before: OverrideChange["before"]): Promise<string | null> {
    const of = this.#options.dies().find(({ address }) => address === name);
    const stuck = of === undefined ? null : this.#hung.on(of);
    if (stuck !== null) return stuck.message;
    const undone = await writeOverride(this.#overrides(), name, before);
    if (undone.ok) return null;
    if (of !== undefined) this.#hung.note(of.die, undone);
    return undone.error.message;
  }

  /** Why that function stays blocked after a bring-up of the die failed; null: it need not. */
  #whyBlocked(die: number, name: string): string | null {
    if (this.#find(die)?.address === name) return null;
    const loading = this.#hung.inLoad();
    if (loading !== null) return loading.message;
    const state = moduleState(this.#options.root, NVIDIA);
    return state === null ? null : `${NVIDIA} is ${state} and would probe the die`;
  }

  #overrides(): OverrideTools {
    const { steps, timeouts } = this.#options;
    return { steps, timeoutMs: timeouts.attributeMs };
  }

  #driverOf(address: string): string | null {
    return readDriver(this.#options.root, address);
  }

  #find(die: number): BoardDie | null {
    return this.#options.dies().find((each) => each.die === die) ?? null;
  }

  /** The die, unless an earlier step on it hangs, behind which this one would hang too. */
  #reach(die: number): StepOutcome<BoardDie> {
    const found = this.#find(die);
    if (found === null) return noSuchDie(die);
    const stuck = this.#hung.on(found);
    return stuck === null ? ok(found) : err(stuck);
  }

  #dieInWindow(): BoardDie | null {
    const occupant = this.#options.occupant();
    return occupant === null ? null : this.#find(occupant);
  }
}

const noSuchDie = (die: number): StepOutcome<never> =>
  refused("driver", `the board has no die ${die}`);

const takenBy = (call: string, driver: string, address: string): StepOutcome<never> =>
  refused(
    call,
    `${driver} has ${address}; take it away with \`echo ${address} > ` +
      `/sys/bus/pci/drivers/${driver}/unbind\` if nothing uses it`,
  );

/** What an errno of a bind means; any other is the answer of the driver's own probe. */
const BIND_MEANINGS: Readonly<Record<string, string>> = {
  ENODEV: `${NVIDIA} does not know this die, or its driver_override names another driver`,
  ENOENT: `there is no PCI driver ${NVIDIA}: its module is gone`,
  EBUSY: "another step has the die",
  EIO: "the driver's probe of it failed: the kernel's log says why (`dmesg`)",
};
