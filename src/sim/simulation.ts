/** One run of a scenario from a seed: clients, faults, a mend, and every die served after it. */
import type { SimFaultName, SimViolation } from "../board/mod.ts";
import { Checker } from "./checker.ts";
import { Client, type Answer, type ClientTools } from "./client.ts";
import type { Mutation } from "./mutation.ts";
import type { SimScenario } from "./scenario.ts";
import { World } from "./world.ts";

export type SimulationOptions = {
  readonly scenario: SimScenario;
  /** A whole number from 0 on; the same seed gives the same run. */
  readonly seed: number;
  /** The path of the base payload, kernels/base.ptx. */
  readonly basePayload: string;
  /** Breaks the machine on purpose, to see that it is found. */
  readonly mutation?: Mutation;
  /** Takes the run's log, a line an event. */
  readonly onLine?: (line: string) => void;
  /** Calls back for errors that nobody waits for; the returned function takes that back. */
  readonly watchStray?: (listener: (error: unknown) => void) => () => void;
};

/** What a run came to. */
export type SimReport = {
  readonly seed: number;
  /** None: all invariants held, and every request was answered. */
  readonly violations: readonly SimViolation[];
  /** How often each operation had each outcome, e.g. `work ok`, `online bring_up_failed`. */
  readonly answers: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<SimFaultName, number>;
  /** Moves of a window that were done. */
  readonly swaps: number;
  /** Owners that were started. */
  readonly owners: number;
  readonly resets: number;
  /** How long it took in the machine's own time. */
  readonly virtualMs: number;
};

/** A run that goes on after this long does so for ever: a day. */
const RUN_MS_MAX = 86_400_000;

/** How often what lasts is looked at. */
const LOOK_MS = 1000;

/** Tries of each die after all faults were cleared; a window is tried again after a pause. */
const SERVE_TRIES = 6;
const SERVE_PAUSE_MS = 2000;

/** More of one run are of no use to anybody. */
const VIOLATIONS_MAX = 20;

/** Runs the scenario. Nothing is left of it but the report. */
export async function simulate(options: SimulationOptions): Promise<SimReport> {
  const run = new Simulation(options);
  const forget = options.watchStray?.((error) => run.noteBug(error));
  try {
    return await run.run();
  } finally {
    forget?.();
  }
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #world: World;
  readonly #checker: Checker;
  readonly #tools: ClientTools;
  readonly #violations: SimViolation[] = [];
  readonly #answers = new Map<string, number>();
  readonly #faults = new Map<SimFaultName, number>();
  #swaps = 0;
  #owners = 0;
  #resets = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    const { scenario, seed, basePayload, mutation = null, onLine = () => undefined } = options;
    const onViolation = (violation: SimViolation): void => this.#violate(violation);
    this.#world = new World({ scenario, seed, basePayload, mutation, onLine, onViolation });
    const { machine, gpus, journal } = this.#world;
    const { minimumHoldMs } = scenario.window;
    this.#checker = new Checker({ machine, gpus, journal, minimumHoldMs, onViolation });
    const onAnswer = (answer: Answer): void => this.#count(answer);
    this.#tools = {
      ...{ world: this.#world, checker: this.#checker, scenario, basePayload },
      ...{ onAnswer, onViolation, taken: new Set() },
    };
    machine.observe((seen) => {
      if (seen.kind === "fault")
        this.#faults.set(seen.fault, (this.#faults.get(seen.fault) ?? 0) + 1);
      if (seen.kind === "reset") this.#resets += 1;
      if (seen.kind === "end" && seen.step === "acquire" && seen.outcome.kind === "done")
        this.#swaps += 1;
    });
  }

  async run(): Promise<SimReport> {
    const { clock } = this.#world;
    this.#world.onStart = () => void (this.#owners += 1);
    this.#world.onGone = () => this.#checker.ownerGone();
    this.#world.start();
    this.#keepLooking();
    let isDone = false;
    // A bug in the owner is what a simulator is there to find: it ends the run, not the process.
    void this.#play().then(
      () => (isDone = true),
      (error: unknown) => {
        this.noteBug(error);
        isDone = true;
      },
    );
    const ended = await clock.run(() => isDone || this.#isHopeless(), RUN_MS_MAX);
    if (ended !== "done") this.#violate({ invariant: 0, text: `the run is stuck: ${ended}` });
    this.#world.end();
    return {
      seed: this.#options.seed,
      violations: this.#violations,
      answers: this.#answers,
      faults: this.#faults,
      swaps: this.#swaps,
      owners: this.#owners,
      resets: this.#resets,
      virtualMs: clock.nowMs(),
    };
  }

  noteBug(error: unknown): void {
    this.#violate({ invariant: 0, text: `a bug: ${textOf(error)}` });
  }

  async #play(): Promise<void> {
    const { workload } = this.#options.scenario;
    const clients = Array.from(
      { length: workload.clients },
      (_, at) => new Client(this.#tools, `client ${at}`),
    );
    await Promise.all([this.#playScript(), ...clients.map((client) => client.run())]);
    this.#world.say("all clients are done; all faults are cleared");
    this.#world.machine.mend();
    await this.#serveAll();
    await this.#leave();
  }

  async #playScript(): Promise<void> {
    const { clock } = this.#world;
    const asked = this.#options.scenario.workload.script.map(async (step, at) => {
      await clock.sleep(step.atMs);
      await new Client(this.#tools, `script ${at}`).ask(step.operation, step.die);
    });
    await Promise.all(asked);
  }

  /** Once nothing is wrong any more, each die works again, whatever was wrong before. */
  async #serveAll(): Promise<void> {
    const client = new Client(this.#tools, "final");
    const dies = this.#world.machine.dies.map(({ die }) => die);
    for (const die of dies) {
      let told = "";
      for (let tries = 0; tries < SERVE_TRIES && told !== "ok"; tries++) {
        if (tries > 0) await this.#world.clock.sleep(SERVE_PAUSE_MS);
        told = await serve(client, die, dies);
      }
      if (told === "ok") continue;
      const text = `die ${die} is not served after all faults were cleared: ${told}`;
      this.#violate({ invariant: 0, text });
    }
  }

  /** 6: to leave releases nothing. */
  async #leave(): Promise<void> {
    const { machine, clock } = this.#world;
    const { owner } = await this.#world.running();
    const shown = machine.slots.map(({ occupant }) => occupant);
    await owner.leave();
    await clock.sleep(1);
    this.#checker.checkLeft(shown);
  }

  #keepLooking(): void {
    this.#world.clock.after(LOOK_MS, () => {
      this.#checker.look();
      this.#keepLooking();
    });
  }

  #isHopeless(): boolean {
    return this.#violations.length >= VIOLATIONS_MAX;
  }

  #violate(violation: SimViolation): void {
    if (this.#isHopeless()) return;
    this.#violations.push(violation);
    const { invariant, text } = violation;
    const rule = invariant === 0 ? "liveness" : `invariant ${invariant}`;
    this.#world.say(`VIOLATION of ${rule}: ${text}`);
  }

  #count({ operation, outcome }: Answer): void {
    const key = `${operation} ${outcome}`;
    this.#answers.set(key, (this.#answers.get(key) ?? 0) + 1);
  }
}

/** Brings the die online, works on it and reads the result; `ok`, or what went wrong. */
async function serve(client: Client, die: number, dies: readonly number[]): Promise<string> {
  await client.ask("resume", die);
  await client.ask("retry", die);
  // What was launched and not read is kept, and may be what stands in the way.
  for (const other of dies) await client.ask("read", other);
  for (const operation of ["online", "work", "read", "run"] as const) {
    const told = await client.ask(operation, die);
    if (told !== "ok") return `${operation}: ${told}`;
  }
  return "ok";
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
