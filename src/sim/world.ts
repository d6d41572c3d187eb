/**
 * A simulated machine and the owner on it, in virtual time: starts the owner, ends it where a fault
 * says so, and starts another one. The owner, its windows, its links and its die hosts are the real
 * code; the machine, its GPUs and the journal's disk are simulated.
 */
import {
  createMortalClock,
  createRandom,
  VirtualClock,
  type EventClock,
  type Random,
} from "../base/mod.ts";
import {
  dieOfStepPid,
  openSimBoard,
  SimMachine,
  type SimObservation,
  type SimStepName,
  type SimViolation,
} from "../board/mod.ts";
import {
  createLocalLauncher,
  createOwner,
  createSpareLauncher,
  findInterruptions,
  type LocalLauncher,
  Wedges,
  type Owner,
} from "../owner/mod.ts";
import { mutateBoard, mutateJournal, type Mutation } from "./mutation.ts";
import type { SimScenario } from "./scenario.ts";
import { SimGpus } from "./sim-gpus.ts";
import { SimJournal } from "./sim-journal.ts";

export type WorldOptions = {
  readonly scenario: SimScenario;
  readonly seed: number;
  /** The path of the base payload, which every context loads. */
  readonly basePayload: string;
  readonly mutation: Mutation | null;
  /** Takes the run's log, a line an event. */
  readonly onLine: (line: string) => void;
  readonly onViolation: (violation: SimViolation) => void;
};

/** An owner process that runs. */
type Running = {
  readonly owner: Owner;
  readonly pid: number;
  readonly launcher: LocalLauncher;
  readonly clock: EventClock;
  readonly end: () => void;
  /** Settles when it is gone. */
  readonly gone: Promise<void>;
};

/** Bytes of a die's staging buffer: the work is small, and there are thousands of dies a minute. */
const STAGING_BYTES = 64 * 1024;

/** Steps of which a run's log has too many to be of any use. */
const UNLOGGED: readonly SimStepName[] = ["copy", "memory"];

export class World {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly machine: SimMachine;
  readonly gpus: SimGpus;
  readonly journal: SimJournal;
  readonly #options: WorldOptions;
  /** A client killed or reset something, beside the faults of the scenario. */
  wasDisturbed = false;
  onStart: () => void = () => undefined;
  /** An owner has ended otherwise than by leaving. */
  onGone: () => void = () => undefined;
  #running: Running | null = null;
  /** Dies that were made to give wrong answers. */
  readonly #erring = new Set<number>();
  #starts = 0;
  /** Settles with the next owner once there is one. */
  #awaited: ((running: Running) => void)[] = [];

  constructor(options: WorldOptions) {
    const { scenario, seed, mutation, onViolation } = options;
    const { clock } = this;
    this.#options = options;
    this.random = createRandom(seed);
    const random = this.random.fork("machine");
    this.machine = new SimMachine({ spec: scenario.machine, clock, random, onViolation });
    this.journal = new SimJournal(clock);
    this.gpus = new SimGpus({
      machine: this.machine,
      initialisingDie: () => this.journal.lastOpen("initialise") ?? 0,
      hidesWrongAnswers: mutation === "hides_wrong_answers",
    });
    this.machine.observe((seen) => this.#observe(seen));
  }

  /** Does something to the machine that no scenario's fault has asked for. */
  disturb(action: () => void): void {
    this.wasDisturbed = true;
    this.clock.after(0, action);
  }

  /** Whether the die was ever made to give wrong answers. */
  hasErred(die: number): boolean {
    return this.#erring.has(die);
  }

  /** A line for the run's log. */
  say(line: string): void {
    const seconds = (this.clock.nowMs() / 1000).toFixed(6).padStart(12);
    this.#options.onLine(`${seconds} ${line}`);
  }

  /** The owner that runs; waits for the next one where none does. */
  running(): Promise<Running> {
    const running = this.#running;
    if (running !== null) return Promise.resolve(running);
    return new Promise((resolve) => this.#awaited.push(resolve));
  }

  /** The owner that runs now, or null. */
  current(): Running | null {
    return this.#running;
  }

  start(): void {
    const { scenario, basePayload, mutation } = this.#options;
    this.#starts += 1;
    const pid = this.#starts;
    const { clock, end } = createMortalClock(this.clock);
    const launcher = this.#createLauncher(pid, clock);
    const { machine, gpus } = this;
    const board = mutateBoard(openSimBoard(machine, clock), mutation, { machine, gpus });
    const journal = mutateJournal(
      this.journal.openFor(pid, machine.boot),
      mutation,
      (action) => void clock.after(0, action),
    );
    this.say(`owner ${pid} starts`);
    const isAlive = (other: number): boolean => {
      const stuckDie = dieOfStepPid(other);
      return stuckDie === null ? other === pid : machine.has("hang", stuckDie);
    };
    const past = { bootId: machine.boot, isAlive };
    const interruptions = findInterruptions(this.journal.text(), past);
    const owner = createOwner({
      ...{ board, journal, clock, windowPolicy: scenario.window },
      wedges: new Wedges({ interruptions, journalPath: null, isAlive }),
      workElements: scenario.workElements,
      workTimeoutMs: scenario.workTimeoutMs,
      launchHost: createSpareLauncher(launcher.launch, clock),
      baseModule: { name: "base.ptx", path: basePayload },
      log: (line) => this.say(`owner ${pid}: ${line}`),
    });
    let tellGone: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (tellGone = resolve));
    const running = {
      ...{ owner, pid, launcher, clock, gone },
      end: () => {
        end();
        launcher.killAll();
        tellGone();
      },
    };
    this.#running = running;
    this.onStart();
    const awaited = this.#awaited;
    this.#awaited = [];
    for (const resolve of awaited) resolve(running);
  }

  /** Ends the owner as SIGKILL does; its die hosts end with it. Another one is started later. */
  killOwner(why: string): void {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    this.say(`owner ${running.pid} is gone: ${why}`);
    running.end();
    this.onGone();
    const { restartMs } = this.#options.scenario;
    const [from, to] = typeof restartMs === "number" ? [restartMs, restartMs] : restartMs;
    this.clock.after(this.random.between(from, to), () => this.start());
  }

  /** The run is over: whatever is left of the owner goes with it. */
  end(): void {
    this.#running?.end();
    this.#running = null;
  }

  /** Ends the die host that has the die's context, or else the one that another die of it has. */
  killHost(die: number): void {
    const { board } = this.machine.dieOf(die);
    const sharing = this.machine.dies.filter((other) => other.board === board);
    const [context] = sharing.flatMap((other) => this.gpus.contextsOf(other.die));
    context?.host.kill();
  }

  #createLauncher(pid: number, clock: EventClock): LocalLauncher {
    return createLocalLauncher({
      clock,
      openGpu: (host) => this.gpus.open(host),
      busyMs: (host) => this.gpus.busyMs(host),
      stagingBytes: STAGING_BYTES,
      onStart: (host) => this.say(`owner ${pid}: die host ${host.pid} starts`),
      onEnd: (host) => {
        this.gpus.forget(host);
        this.say(`owner ${pid}: die host ${host.pid} ends`);
      },
      onBug: (error) => {
        const text = error instanceof Error ? error.message : String(error);
        this.#options.onViolation({ invariant: 0, text: `a bug in a die host: ${text}` });
      },
    });
  }

  #observe(seen: SimObservation): void {
    this.#say(seen);
    if (seen.kind === "fault" && seen.fault === "wrong_answer") this.#erring.add(seen.die);
    if (seen.kind === "reset") this.killOwner("the host was reset");
    if (seen.kind !== "kill") return;
    if (seen.what === "owner") this.killOwner("killed by SIGKILL");
    else this.killHost(seen.die);
  }

  #say(seen: SimObservation): void {
    switch (seen.kind) {
      case "begin":
        if (!UNLOGGED.includes(seen.step)) this.say(`machine: ${seen.step} of die ${seen.die}`);
        return;
      case "end": {
        const { step, die, outcome } = seen;
        const reason = "reason" in outcome ? `: ${outcome.reason}` : "";
        this.say(`machine: ${step} of die ${die} ${outcome.kind}${reason}`);
        return;
      }
      case "fault":
      case "cleared":
        this.say(`machine: ${seen.kind} ${seen.fault} on die ${seen.die}`);
        return;
      case "slot_lost":
        this.say(`machine: the window of die ${seen.die} is lost`);
        return;
      case "kernel_log":
        this.say(`kernel: ${seen.line}`);
        return;
      case "kill":
        return;
      case "reset":
        this.say(`machine: the host starts anew, ${seen.boot}`);
    }
  }
}
