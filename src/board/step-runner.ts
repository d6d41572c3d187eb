/**
 * Runs steps in a process that may be left behind: one after the other, each with a time limit. A
 * process that does not answer in time is sent SIGKILL and left to itself, for in the middle of a
 * call of the kernel nothing can end it; the next step gets a new one.
 */
import { createMutex, err, ok, type EventClock, type Result } from "../base/mod.ts";
import {
  describeProcess,
  isProcessAlive,
  readFamily,
  stuckOne,
  type ProcessId,
} from "./process-state.ts";
import type { StepAnswer, StepCall, StepCalls, StepError, StepQuestion } from "./step-protocol.ts";

/** A running step process, as the operating system shows it. */
export type StepTransport = {
  readonly pid: number | null;
  readonly send: (question: StepQuestion) => void;
  /** Called once it takes questions; what it is asked before waits for that. */
  readonly onReady: (listener: () => void) => void;
  readonly onAnswer: (listener: (answer: StepAnswer) => void) => void;
  /** Called once, when the process has ended; says how, e.g. `was killed by SIGBUS`. */
  readonly onEnd: (listener: (how: string) => void) => void;
  /** Sends SIGKILL to it and to what it has started, and does not wait for either. */
  readonly abandon: () => void;
  /** Lets it end once it has done what it was asked. */
  readonly close: () => void;
};

export type StepLauncher = () => StepTransport;

/** Why a step has no answer. What it did is not known where it hung or its process ended. */
export type StepFailure =
  | ({ readonly kind: "failed" } & StepError)
  /** `stuck`: the process in which it hangs, which may be one that the step has started. */
  | { readonly kind: "hung"; readonly message: string; readonly stuck: ProcessId | null }
  | { readonly kind: "ended"; readonly message: string };

export type StepRunner = {
  readonly run: <K extends StepCall>(
    call: K,
    body: StepCalls[K]["request"],
    timeoutMs: number,
  ) => Promise<Result<StepCalls[K]["reply"], StepFailure>>;
  /** The process that takes the steps now. */
  readonly pid: () => number | null;
  /** One process of each step that was left behind and still has some. */
  readonly stuckPids: () => readonly number[];
  /** Ends it. A step in flight fails, and every later one. */
  readonly end: () => void;
};

export type StepRunnerOptions = {
  readonly launch: StepLauncher;
  readonly clock: EventClock;
  /** `/`: where /proc is. */
  readonly root: string;
  /** A process without a step for this long ends; null: it stays. */
  readonly idleMs: number | null;
};

/** Processes left behind before we refuse to leave more: something is badly wrong by then. */
const STUCK_MAX = 8;

/** How long a process may take until it takes questions; it is 40 ms on an idle machine. */
const START_MS_MAX = 60_000;

/** A question that is out. */
type Pending = {
  readonly id: number;
  readonly call: StepCall;
  readonly settle: (answer: PendingAnswer) => void;
};
type PendingAnswer = Result<unknown, StepFailure>;

export function createStepRunner(options: StepRunnerOptions): StepRunner {
  const runner = new Runner(options);
  return {
    run: (call, body, timeoutMs) => runner.run(call, body, timeoutMs) as never,
    pid: () => runner.pid,
    stuckPids: () => runner.stuckPids(),
    end: () => runner.end(),
  };
}

class Runner {
  readonly #options: StepRunnerOptions;
  readonly #turn = createMutex();
  /** Of each step that was left behind: its process, and all that had come from it. */
  readonly #stuck = new Map<number, readonly ProcessId[]>();
  #transport: StepTransport | null = null;
  /** Resolves once the process takes questions. */
  #whenReady: () => void = () => undefined;
  #isReady = false;
  #pending: Pending | null = null;
  #stopIdle: () => void = () => undefined;
  #nextId = 1;
  #hasEnded = false;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  get pid(): number | null {
    return this.#transport?.pid ?? null;
  }

  run(call: StepCall, body: unknown, timeoutMs: number): Promise<PendingAnswer> {
    return this.#turn.run(async () => {
      if (this.#hasEnded) return err({ kind: "ended", message: `${call}: we are leaving` });
      const stuck = this.stuckPids();
      if (stuck.length >= STUCK_MAX) return err(tooManyStuck(stuck));
      this.#stopIdle();
      const answer = await this.#ask(
        this.#current(),
        { id: this.#nextId++, call, body },
        timeoutMs,
      );
      this.#endWhenIdle();
      return answer;
    });
  }

  end(): void {
    this.#hasEnded = true;
    this.#stopIdle();
    // Between its RELEASE and its ACQUIRE a move would leave the slot free: it is not cut in two.
    if (this.#pending?.call === "slotMove") this.#transport?.close();
    else this.#transport?.abandon();
    this.#transport = null;
    this.#pending?.settle(err({ kind: "ended", message: "we are leaving" }));
  }

  #ask(
    transport: StepTransport,
    question: StepQuestion,
    timeoutMs: number,
  ): Promise<PendingAnswer> {
    return new Promise((resolve) => {
      const { clock } = this.#options;
      const giveUp = (): void => {
        this.#pending?.settle(err(this.#leaveBehind(transport, question.call, timeoutMs)));
      };
      // A busy machine may take long to start a process, and no step has begun to hang by then.
      let stopTimer = clock.after(this.#isReady ? timeoutMs : START_MS_MAX + timeoutMs, giveUp);
      this.#whenReady = (): void => {
        stopTimer();
        stopTimer = clock.after(timeoutMs, giveUp);
      };
      this.#pending = {
        id: question.id,
        call: question.call,
        settle: (answer) => {
          this.#pending = null;
          this.#whenReady = (): void => undefined;
          stopTimer();
          resolve(answer);
        },
      };
      transport.send(question);
    });
  }

  #current(): StepTransport {
    if (this.#transport !== null) return this.#transport;
    const transport = this.#options.launch();
    this.#transport = transport;
    this.#isReady = false;
    transport.onReady(() => {
      if (this.#transport !== transport) return;
      this.#isReady = true;
      this.#whenReady();
    });
    transport.onAnswer((answer) => {
      if (this.#transport !== transport || this.#pending?.id !== answer.id) return;
      if ("error" in answer) this.#pending.settle(err({ kind: "failed", ...answer.error }));
      else this.#pending.settle(ok(answer.reply));
    });
    transport.onEnd((how) => {
      if (this.#transport !== transport) return;
      this.#transport = null;
      const message = `the step process ${String(transport.pid)} ${how}`;
      this.#pending?.settle(err({ kind: "ended", message }));
    });
    return transport;
  }

  #leaveBehind(transport: StepTransport, call: StepCall, timeoutMs: number): StepFailure {
    const { root } = this.#options;
    const { pid } = transport;
    // Looked at first: what is told is where it hung, not how it was ended.
    const who = pid === null ? "its process" : describeProcess(root, pid);
    const family = pid === null ? [] : readFamily(root, pid);
    transport.abandon();
    this.#transport = null;
    if (pid !== null) {
      // What was started between the two looks has the signal too, and starts nothing more.
      const late = readFamily(root, pid).filter((each) => !family.some((one) => isSame(one, each)));
      this.#stuck.set(pid, [...family, ...late]);
    }
    const message = `${call} did not come back within ${timeoutMs} ms and is left behind: ${who}`;
    const stuck = stuckOne(family) ?? (pid === null ? null : { pid, startTicks: 0 });
    if (stuck === null) return { kind: "hung", message, stuck };
    return { kind: "hung", message, stuck: { pid: stuck.pid, startTicks: stuck.startTicks } };
  }

  /**
   * The processes left behind that are still there. The step's own ends at once by SIGKILL; what
   * sits in the kernel is often the program that it has started.
   */
  stuckPids(): readonly number[] {
    const { root } = this.#options;
    const isAlive = ({ pid, startTicks }: ProcessId): boolean =>
      isProcessAlive(root, pid, startTicks);
    for (const [pid, family] of this.#stuck) if (!family.some(isAlive)) this.#stuck.delete(pid);
    return [...this.#stuck.values()].flatMap((family) => family.find(isAlive)?.pid ?? []);
  }

  #endWhenIdle(): void {
    const { clock, idleMs } = this.#options;
    const transport = this.#transport;
    if (idleMs === null || transport === null) return;
    this.#stopIdle = clock.afterInBackground(idleMs, () => {
      if (this.#transport !== transport) return;
      this.#transport = null;
      transport.close();
    });
  }
}

const isSame = (one: ProcessId, other: ProcessId): boolean =>
  one.pid === other.pid && one.startTicks === other.startTicks;

const tooManyStuck = (pids: readonly number[]): StepFailure => ({
  kind: "failed",
  code: "EAGAIN",
  errno: 11,
  message:
    `${pids.length} step processes are stuck in the kernel (${pids.join(", ")}), and no more are ` +
    "started; the machine has to be restarted",
});
