/** Clients of a simulated machine's owner: they ask for things and look at the answers. */
import type { Random } from "../base/mod.ts";
import type { SimViolation } from "../board/mod.ts";
import { catalogueKernel } from "../gpu/mod.ts";
import {
  launchShape,
  type Job,
  type JobResult,
  type Owner,
  type OwnerRefusalCode,
} from "../owner/mod.ts";
import type { Checker } from "./checker.ts";
import type { SimOperation, SimScenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** What became of a request, for the counts. */
export type Answer = { readonly operation: SimOperation; readonly outcome: string };

export type ClientTools = {
  readonly world: World;
  readonly checker: Checker;
  readonly scenario: SimScenario;
  readonly basePayload: string;
  readonly onAnswer: (answer: Answer) => void;
  readonly onViolation: (violation: SimViolation) => void;
  /** Works that an owner has taken, by owner and die, so that no read gives another one's. */
  readonly taken: Set<string>;
};

/** Refusals that need no fault: the request came at the wrong time. */
const TIMELY: readonly OwnerRefusalCode[] = [
  ...(["not_online", "no_work", "leaving", "draining", "parked"] as const),
];

/** Also at the wrong time: a host is not replaced while a result in it has not been read. */
const UNREAD = "work_unread";

/** Steps of the work: each is an addition of one. */
const ITERS_MAX = 1000;

/** Seeds of the work's pattern. */
const SEED_MAX = 1000;

/** How long a drain may take before it says that it is not done. */
const DRAIN_MS = 5000;

/** Elements of the jobs that clients run: few, as those of the work. */
const RUN_ELEMENTS = 32;

/**
 * The longest that a request may take, in virtual milliseconds: it may wait for every die of its
 * board to be brought up three times over, with a step of each that hangs and a job that times out.
 */
const boundMs = ({ machine, workTimeoutMs, window }: SimScenario): number =>
  3 * machine.diesPerBoard * (3 * machine.stepTimeoutMs + 3 * workTimeoutMs + HOST_MS_MAX) +
  machine.diesPerBoard * window.maximumWaitMs +
  HOST_MS_MAX;

/** A die host that is stuck is found and replaced within this long. */
const HOST_MS_MAX = 130_000;

/** What a request came to: an answer, or the end of the owner that it was made to. */
type Outcome<T> = { readonly value: T } | "gone" | "stuck";

export class Client {
  readonly #tools: ClientTools;
  readonly #name: string;
  readonly #random: Random;

  constructor(tools: ClientTools, name: string) {
    this.#tools = tools;
    this.#name = name;
    this.#random = tools.world.random.fork(name);
  }

  /** Asks for so many things, one after another. */
  async run(): Promise<void> {
    const { world, scenario } = this.#tools;
    const { operations, gapMs, mix } = scenario.workload;
    const [from, to] = typeof gapMs === "number" ? [gapMs, gapMs] : gapMs;
    const dies = scenario.machine.boards * scenario.machine.diesPerBoard;
    for (let count = 0; count < operations; count++) {
      await world.clock.sleep(this.#random.between(from, to));
      await this.ask(choose(mix, this.#random), this.#random.below(dies));
    }
  }

  /** Asks for one thing, and checks the answer; what it came to, for whoever has to know. */
  async ask(operation: SimOperation, die: number): Promise<string> {
    const { world, onAnswer, onViolation, scenario, checker } = this.#tools;
    const running = await world.running();
    const text = `${this.#name}: ${operation} ${die}`;
    world.say(text);
    const startMs = world.clock.nowMs();
    const limitMs = boundMs(scenario);
    const outcome: Outcome<string> = await Promise.race([
      this.#perform(running, operation, die).then((value) => ({ value })),
      running.gone.then(() => "gone" as const),
      world.clock.sleep(limitMs).then(() => "stuck" as const),
    ]);
    const tookMs = world.clock.nowMs() - startMs;
    const told = typeof outcome === "string" ? outcome : outcome.value;
    world.say(`${text}: ${told} (${tookMs.toFixed(3)} ms)`);
    if (outcome === "stuck")
      onViolation({ invariant: 0, text: `${text} was not answered within ${limitMs} ms` });
    checker.look();
    const [code = ""] = told.split(":");
    onAnswer({ operation, outcome: code });
    this.#checkTimely(text, code, told);
    return told;
  }

  /** Without a fault that could be to blame, only what came at the wrong time is refused. */
  #checkTimely(text: string, code: string, told: string): void {
    const { scenario, onViolation, world } = this.#tools;
    const isCalm = scenario.machine.faults.length === 0 && !world.wasDisturbed;
    const isFine =
      ["ok", "gone", "stuck", ...(TIMELY as readonly string[])].includes(code) ||
      told.includes(UNREAD);
    if (isCalm && !isFine)
      onViolation({ invariant: 0, text: `${text} was refused without a fault: ${told}` });
  }

  async #perform(
    { owner, pid }: { readonly owner: Owner; readonly pid: number },
    operation: SimOperation,
    die: number,
  ): Promise<string> {
    const { world } = this.#tools;
    switch (operation) {
      case "work":
        return this.#work(owner, pid, die);
      case "read":
        return this.#read(owner, pid, die);
      case "run":
        return this.#runJob(owner, die);
      case "online":
        return toldOf(await owner.online(die));
      case "probe":
        return toldOf(await owner.probe(die));
      case "swap":
        return toldOf(await owner.swap(die));
      case "count":
        return toldOf(await owner.count());
      case "discover":
        return toldOf(await owner.discover());
      case "retry":
        return `ok: ${owner.retry(die).length}`;
      case "drain":
        return `ok: ${(await owner.drain(DRAIN_MS)).mode}`;
      case "park":
        return this.#park(owner);
      case "resume":
        this.#tools.checker.park(false);
        owner.resume();
        return "ok";
      case "status":
        this.#tools.checker.checkStatus(await owner.status());
        return "ok";
      case "kill_owner":
        world.disturb(() => world.killOwner("killed by a client"));
        return "ok";
      case "kill_host":
        world.disturb(() => world.killHost(die));
        return "ok";
      case "reset_host":
        world.disturb(() => world.machine.reset());
        return "ok";
    }
  }

  async #park(owner: Owner): Promise<string> {
    const { checker } = this.#tools;
    const { resumes } = checker;
    const { mode } = await owner.park();
    // Another client may have had it serve again since.
    if (mode === "parked" && checker.resumes === resumes) checker.park(true);
    return `ok: ${mode}`;
  }

  async #work(owner: Owner, pid: number, die: number): Promise<string> {
    const [seed, iters] = [this.#random.below(SEED_MAX), this.#random.below(ITERS_MAX)];
    // Noted before it is answered: a read may come in between.
    this.#tools.taken.add(`${pid} ${die} ${seed} ${iters}`);
    return toldOf(await owner.work(die, seed, iters));
  }

  async #read(owner: Owner, pid: number, die: number): Promise<string> {
    const { taken, onViolation } = this.#tools;
    const read = await owner.read(die);
    if (!read.ok) return toldOf(read);
    const { seed, iters, pass, bad, checked } = read.value;
    if (!taken.has(`${pid} ${die} ${seed} ${iters}`))
      onViolation({ invariant: 2, text: `read ${die} gives work that was never launched there` });
    if (pass) return "ok";
    this.#checkWrong(die, `read ${die}: ${bad} of ${checked} elements are wrong`);
    return `wrong: ${bad} of ${checked}`;
  }

  async #runJob(owner: Owner, die: number): Promise<string> {
    const { basePayload, scenario } = this.#tools;
    const result = await owner.run(die, vaddJob(basePayload, scenario.workTimeoutMs));
    if (result.status !== "ok") return `${nameOf(result)}: ${result.cause.message}`;
    const bad = result.proof?.bad ?? 0;
    if (bad === 0) return "ok";
    this.#checkWrong(die, `run ${die}: ${bad} elements are wrong`);
    return `wrong: ${bad}`;
  }

  /** A wrong answer has to come of a die that was made to give one. */
  #checkWrong(die: number, text: string): void {
    if (!this.#tools.world.hasErred(die)) this.#tools.onViolation({ invariant: 2, text });
  }
}

/** The owner's own refusals have its codes for names. */
const nameOf = (result: Exclude<JobResult, { readonly status: "ok" }>): string =>
  result.status === "refused" ? result.cause.name : result.status;

const toldOf = (
  result:
    | { readonly ok: true }
    | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } },
): string => (result.ok ? "ok" : `${result.error.code}: ${result.error.message}`);

function vaddJob(path: string, timeoutMs: number): Job {
  const kernel = catalogueKernel("vadd");
  const bytes = RUN_ELEMENTS * Float32Array.BYTES_PER_ELEMENT;
  const ramp = (step: number): Job["arguments"][number] => ({
    ...{ kind: "buffer", bytes, target: null },
    source: { kind: "pattern", pattern: { kind: "ramp", scale: step, modulus: 1000 } },
  });
  return {
    ...{ module: { name: "base.ptx", path }, entry: kernel.entry, sharedBytes: 0, timeoutMs },
    ...launchShape(kernel, RUN_ELEMENTS),
    arguments: [
      { kind: "buffer", bytes, source: { kind: "zero" }, target: null },
      ramp(0.5),
      ramp(0.25),
      { kind: "scalar", type: "u32", value: String(RUN_ELEMENTS) },
    ],
    check: {
      ...{ reference: "vadd", elements: RUN_ELEMENTS, iterations: 0 },
      ...{ extent: "full", sampleSeed: "0", sums: [] },
    },
  };
}

/** One of the operations, as often as its weight has it. */
function choose(mix: SimScenario["workload"]["mix"], random: Random): SimOperation {
  const weighted = Object.entries(mix) as (readonly [SimOperation, number])[];
  let left = random.next() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [operation, weight] of weighted) {
    left -= weight;
    if (left < 0) return operation;
  }
  return weighted[0]?.[0] ?? "status";
}
