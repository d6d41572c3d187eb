/**
 * A simulated machine: boards of dies, one window a board, the driver, sysfs and the kernel's log.
 * It outlives the owners that run on it, and starts anew when it is reset. It does what hardware
 * does, wrong orders included, and says what hardware would not stand: who watches decides whether
 * that ends everything. Addresses and times are made up; orders and exclusions are real.
 */
import { createRandom, invariant, type EventClock, type Random } from "../base/mod.ts";
import { formatPciAddress } from "./pci-address.ts";
import { drawMs, SimFaultPlan } from "./sim-faults.ts";
import {
  SIM_FAULTS,
  type SimFault,
  type SimFaultName,
  type SimMachineSpec,
  type SimStepName,
} from "./sim-scenario.ts";
import { xidOf } from "./xid-catalogue.ts";

/** The first board's bus; each die has one of its own, and each board begins a new row of 16. */
const FIRST_BUS = 5;
const BOARD_BUSES = 16;

/** A die as the machine has it. */
export type SimDieState = {
  readonly die: number;
  readonly board: number;
  readonly address: string;
  override: string | null;
  isBound: boolean;
  /** Contexts that were made before the latest change of this are lost. */
  epoch: number;
};

/** A window as the machine has it. */
export type SimSlotState = {
  readonly board: number;
  /** The die that it really shows. */
  occupant: number | null;
  /** The owner whose acquire is under way, as boards tell them apart; null where none is. */
  mover: object | null;
  /** It was lost to a fault, and nobody has acquired since. */
  isLost: boolean;
};

/** Which rule of DESIGN section 4 was broken, and how. */
export type SimViolation = { readonly invariant: number; readonly text: string };

export type SimStepOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "refused" | "lost"; readonly reason: string }
  | { readonly kind: "hung" };

/** A step of the board, as the machine takes it. */
export type SimStepWork = {
  /** What it does at once, e.g. to sysfs, and leaves behind whatever becomes of it. */
  readonly begin?: () => void;
  /** What it does where nothing goes wrong, after it has taken its time. */
  readonly action: () => SimStepOutcome;
  /** Called as it ends, however that is, and whoever is left to hear of it. */
  readonly end?: () => void;
};

export type SimObservation =
  | {
      readonly kind: "begin";
      /** Of this one step: its end has the same. Whoever took it may be gone by then. */
      readonly id: number;
      readonly step: SimStepName;
      readonly die: number;
    }
  | {
      readonly kind: "end";
      readonly id: number;
      readonly step: SimStepName;
      readonly die: number;
      readonly outcome: SimStepOutcome;
    }
  | { readonly kind: "fault" | "cleared"; readonly fault: SimFaultName; readonly die: number }
  | { readonly kind: "slot_lost"; readonly die: number }
  | { readonly kind: "kernel_log"; readonly line: string }
  | { readonly kind: "kill"; readonly what: "owner" | "host"; readonly die: number }
  | { readonly kind: "reset"; readonly boot: string };

export type SimMachineOptions = {
  readonly spec: SimMachineSpec;
  readonly clock: EventClock;
  readonly random: Random;
  /** What hardware would not stand. Where it is left out, that is a bug and ends the process. */
  readonly onViolation?: (violation: SimViolation) => void;
  /** Says of each step of the board whether it is refused beside the spec's faults, and why. */
  readonly script?: (step: SimStepName, die: number) => string | null;
};

type Observer = (observation: SimObservation) => void;

/** A fault that lasts, on one die. */
type Lasting = { readonly cancel: () => void };

/** `done`, told apart from what a fault makes of a step. */
const DONE: SimStepOutcome = { kind: "done" };

/** Never settles: what waited for it is gone. */
export const forever = <T>(): Promise<T> => new Promise<T>(() => undefined);

export class SimMachine {
  readonly spec: SimMachineSpec;
  readonly clock: EventClock;
  readonly dies: readonly SimDieState[];
  readonly slots: readonly SimSlotState[];
  isLoaded = false;
  /** Says whether kernels run in contexts of the die; set by whoever has its contexts. */
  isComputing: (die: number) => boolean = () => false;
  readonly #options: SimMachineOptions;
  readonly #plan: SimFaultPlan;
  readonly #latencies: Random;
  readonly #choices: Random;
  readonly #observers = new Set<Observer>();
  readonly #lasting = new Map<string, Lasting>();
  #boots = 1;
  #steps = 0;

  constructor(options: SimMachineOptions) {
    const { spec, clock, random } = options;
    this.#options = options;
    this.spec = spec;
    this.clock = clock;
    this.#plan = new SimFaultPlan(spec.faults, random);
    this.#latencies = random.fork("latencies");
    this.#choices = random.fork("choices");
    this.slots = Array.from({ length: spec.boards }, (_, board) => ({
      ...{ board, occupant: null, mover: null, isLost: false },
    }));
    this.dies = Array.from({ length: spec.boards * spec.diesPerBoard }, (_, die) => {
      const board = Math.floor(die / spec.diesPerBoard);
      const bus = FIRST_BUS + board * BOARD_BUSES + (die % spec.diesPerBoard);
      const address = formatPciAddress({ domain: 0, bus, device: 0, function: 0 });
      return { die, board, address, override: null, isBound: false, epoch: 0 };
    });
  }

  /** Another one after each reset, as /proc/sys/kernel/random/boot_id is. */
  get boot(): string {
    return `sim-boot-${this.#boots}`;
  }

  observe(observer: Observer): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  dieOf(die: number): SimDieState {
    const found = this.dies[die];
    invariant(found !== undefined, `the machine has no die ${die}`);
    return found;
  }

  slotOf(die: number): SimSlotState {
    const slot = this.slots[this.dieOf(die).board];
    invariant(slot !== undefined, `die ${die} has a slot`);
    return slot;
  }

  /** Whether a fault lasts on the die now. */
  has(fault: SimFaultName, die: number): boolean {
    return this.#lasting.has(`${fault} ${die}`);
  }

  /** True where the window really shows the die. */
  isMapped(die: number): boolean {
    const slot = this.slotOf(die);
    return slot.mover === null && slot.occupant === die;
  }

  /** Tells of something that the hardware would not stand. */
  violate(invariantNumber: number, text: string): void {
    const { onViolation } = this.#options;
    invariant(onViolation !== undefined, `invariant ${invariantNumber}: ${text}`);
    onViolation({ invariant: invariantNumber, text });
  }

  /**
   * Takes a step of the board: waits for as long as it takes, lets faults strike, and does it.
   * Never settles where the machine was reset meanwhile: whoever waited is gone with it.
   */
  async step(step: SimStepName, die: number, work: SimStepWork): Promise<SimStepOutcome> {
    const boot = this.#boots;
    const id = ++this.#steps;
    this.#tell({ kind: "begin", id, step, die });
    work.begin?.();
    const struck = this.strike(step, die);
    const ms = drawMs(this.spec.latencyMs[step], this.#latencies);
    if (ms > 0) await this.clock.sleep(ms);
    if (this.has("hang", die)) return this.#hang({ id, step, die }, boot, work);
    if (this.#boots !== boot) return forever();
    const reason =
      this.#options.script?.(step, die) ??
      (struck.some(({ kind }) => kind === "refused") ? "a fault of the scenario" : null);
    const outcome: SimStepOutcome = reason === null ? work.action() : { kind: "refused", reason };
    work.end?.();
    this.#tell({ kind: "end", id, step, die, outcome });
    return outcome;
  }

  /** A step of a die host: faults strike, and it takes this many milliseconds of its thread. */
  hostStep(step: SimStepName, die: number): { readonly ms: number; readonly struck: Struck } {
    this.#tell({ kind: "begin", id: ++this.#steps, step, die });
    const struck = this.strike(step, die);
    const ms = this.has("hang", die)
      ? Infinity
      : drawMs(this.spec.latencyMs[step], this.#latencies);
    return { ms, struck };
  }

  /** Lets the faults strike that are due; those that last are in `has` from now on. */
  strike(step: SimStepName, die: number): Struck {
    const struck = this.#plan.strikes(step, die);
    for (const fault of struck) {
      this.#tell({ kind: "fault", fault: fault.kind, die });
      this.#apply(fault, die);
    }
    return struck;
  }

  /** Ends all faults: none lasts, and none strikes any more. */
  mend(): void {
    this.#plan.end();
    for (const key of [...this.#lasting.keys()]) this.#clear(key);
  }

  /** The host starts anew. */
  reset(): void {
    for (const key of [...this.#lasting.keys()]) this.#clear(key);
    this.#boots += 1;
    this.isLoaded = false;
    for (const die of this.dies) {
      die.override = null;
      die.isBound = false;
      die.epoch += 1;
    }
    for (const slot of this.slots) {
      slot.occupant = null;
      slot.mover = null;
      slot.isLost = false;
    }
    this.#tell({ kind: "reset", boot: this.boot });
  }

  logKernelLine(line: string): void {
    this.#tell({ kind: "kernel_log", line });
  }

  #tell(observation: SimObservation): void {
    for (const observer of [...this.#observers]) observer(observation);
  }

  #apply(fault: SimFault, die: number): void {
    if (SIM_FAULTS[fault.kind].lasts) this.#last(fault, die);
    const soon = (action: () => void): void => void this.clock.after(0, action);
    switch (fault.kind) {
      case "off_bus":
        this.dieOf(die).epoch += 1;
        if (!fault.silent) this.#logXid(79, die);
        return;
      case "slot_lost":
        this.#loseSlot(die);
        return;
      case "xid": {
        const xid = fault.xids[this.#choices.below(fault.xids.length)];
        invariant(xid !== undefined, "a fault of Xids has some");
        this.#logXid(xid, die);
        return;
      }
      case "host_reset":
        soon(() => this.reset());
        return;
      case "owner_killed":
      case "host_killed": {
        const what = fault.kind === "owner_killed" ? "owner" : "host";
        soon(() => this.#tell({ kind: "kill", what, die }));
        return;
      }
      case "refused":
      case "hang":
      case "out_of_memory":
      case "no_ordinal":
      case "wrong_answer":
      case "endless":
        return;
    }
  }

  #last({ kind, clearsAfterMs }: SimFault, die: number): void {
    const key = `${kind} ${die}`;
    this.#lasting.get(key)?.cancel();
    const cancel =
      clearsAfterMs === null
        ? (): void => undefined
        : this.clock.after(drawMs(clearsAfterMs, this.#latencies), () => this.#clear(key));
    this.#lasting.set(key, { cancel });
  }

  #clear(key: string): void {
    this.#lasting.get(key)?.cancel();
    this.#lasting.delete(key);
    const [fault, die] = key.split(" ");
    this.#tell({ kind: "cleared", fault: fault as SimFaultName, die: Number(die) });
  }

  #loseSlot(die: number): void {
    const slot = this.slotOf(die);
    if (slot.occupant !== die) return;
    slot.occupant = null;
    slot.isLost = true;
    this.dieOf(die).epoch += 1;
    this.#tell({ kind: "slot_lost", die });
  }

  /** Writes the driver's line; one that concerns the die takes its contexts with it. */
  #logXid(number: number, die: number): void {
    const xid = xidOf(number);
    if (xid.class !== "notice") this.dieOf(die).epoch += 1;
    const address = this.dieOf(die).address.replace(/\.\d$/, "");
    this.logKernelLine(`NVRM: Xid (PCI:${address}): ${number}, pid=1, ${xid.meaning}`);
  }

  /**
   * A step that does not come back: whoever took it gives up after a while. Once the fault clears
   * it may end after all, with nobody there to hear of it; a move of the window does not, since it
   * is ended with the process that holds the slot.
   */
  async #hang(
    { id, step, die }: { readonly id: number; readonly step: SimStepName; readonly die: number },
    boot: number,
    work: SimStepWork,
  ): Promise<SimStepOutcome> {
    const isLateEnd = step !== "acquire" && this.#choices.next() < 0.5;
    const forget = this.observe((event) => {
      if (event.kind !== "cleared" || event.fault !== "hang" || event.die !== die) return;
      forget();
      if (this.#boots === boot && isLateEnd) work.action();
    });
    await this.clock.sleep(this.spec.stepTimeoutMs);
    if (this.#boots !== boot) return forever();
    const outcome: SimStepOutcome = { kind: "hung" };
    work.end?.();
    this.#tell({ kind: "end", id, step, die, outcome });
    return outcome;
  }
}

/** The faults that struck in a step. */
export type Struck = readonly SimFault[];

/** A machine whose times and faults depend on nothing but the spec. */
export const createSimMachine = (
  options: Omit<SimMachineOptions, "random"> & { readonly seed?: number },
): SimMachine => new SimMachine({ ...options, random: createRandom(options.seed ?? 0) });

export { DONE as SIM_STEP_DONE };
