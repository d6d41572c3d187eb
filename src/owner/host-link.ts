/**
 * The owner's end of a die host: calls and their replies over one socket, and the news of its
 * death. What carries the frames is an argument, so that tests run the same code over a host
 * in-process.
 */
import { err, invariant, ok, type EventClock, type Result } from "../base/mod.ts";
import {
  createFrameReader,
  encodeFrame,
  type HostCallName,
  type HostCalls,
  type HostFailure,
  type HostMessage,
  type HostRequest,
} from "./frames.ts";
import { timeoutCause, type Job, type JobCause, type JobResult } from "./job.ts";

/** A running die host, as the operating system shows it. */
export type HostTransport = {
  readonly pid: number | null;
  readonly write: (frame: Buffer) => void;
  readonly onData: (listener: (chunk: Buffer) => void) => void;
  /** Called once, when the process is gone; says how, e.g. `killed by SIGKILL`. */
  readonly onEnd: (listener: (how: string) => void) => void;
  /** SIGKILL: the one signal that needs nothing of a process that may be stuck in a driver call. */
  readonly kill: () => void;
};

/** Starts a die host. */
export type HostLauncher = () => HostTransport;

/** A job that was started: `launched` settles first, then `finished`. Neither ever rejects. */
export type StartedJob = {
  readonly launched: Promise<Result<void, HostFailure>>;
  readonly finished: Promise<JobResult>;
};

export type HostLink = {
  readonly pid: number | null;
  readonly call: <K extends HostCallName>(
    call: K,
    body: HostCalls[K]["request"],
  ) => Promise<Result<HostCalls[K]["reply"], HostFailure>>;
  readonly start: (die: number, job: Job) => StartedJob;
  /** Ends the host; `cause` is what everything in flight is told. */
  readonly kill: (cause: JobCause) => void;
  /** Settles when the host is of no use any more: it is gone, or was told to go. */
  readonly died: Promise<JobCause>;
  /** Settles when its process has ended; with how, e.g. `was killed by SIGKILL`. */
  readonly ended: Promise<string>;
};

/**
 * How long after its timeout a job may still be silent. The die host tells of a timeout itself; one
 * that is stuck in a driver call cannot, and is told on.
 */
const TIMEOUT_GRACE_MS = 1000;

/**
 * What comes after the kernel, copies, checks and files, is given time for its bytes: slower than
 * any disk that one would use, so that only what is stuck is ended.
 */
const SETTLE_BYTES_PER_MS = 8 * 1024;

/**
 * How long a check may take for each element: `slow_add` works out some 50 steps, a microsecond on
 * a quick core, and cores are shared.
 */
const CHECK_MS_PER_ELEMENT = 0.01;

/** Longest delay that a timer takes; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * How long a job may prepare besides moving its bytes: a large module may be compiled, memory be
 * page-locked, a probe be run before it. Beyond that its host is stuck, e.g. in a read of a file
 * that never gives anything.
 */
const PREPARE_MS_MAX = 60_000;

const bufferBytesOf = (job: Job): number =>
  job.arguments.reduce((sum, each) => sum + ("bytes" in each ? each.bytes : 0), 0);

/** How long a job whose turn has come may be silent before it is launched. */
function prepareMs(job: Job): number {
  const bytes = bufferBytesOf(job) + (job.payload?.input?.bytes ?? 0);
  return Math.min(PREPARE_MS_MAX + bytes / SETTLE_BYTES_PER_MS, TIMER_MS_MAX);
}

/** How long a job that was launched may be silent. */
function silenceMs(job: Job): number {
  const bytes = bufferBytesOf(job) + (job.payload?.output?.bytes ?? 0);
  const { check } = job;
  const checked = check === undefined || check.extent === "none" ? 0 : check.elements;
  const settleMs = bytes / SETTLE_BYTES_PER_MS + checked * CHECK_MS_PER_ELEMENT;
  const wholeMs = job.timeoutMs + TIMEOUT_GRACE_MS + settleMs;
  return Math.min(wholeMs, TIMER_MS_MAX);
}

/**
 * How long any other call may take once its turn has come: to open a backend on a machine full of
 * dies takes half a minute, a large module is compiled. Beyond that the host is stuck in the
 * driver, and whoever waits for it would do so for ever.
 */
const CALL_MS_MAX = 120_000;

/** A probe takes less: its host answers within 50 s by itself, that its kernel is late. */
const PROBE_MS_MAX = 60_000;

const limitMs = (call: HostCallName): number => (call === "probe" ? PROBE_MS_MAX : CALL_MS_MAX);

const stuckCallCause = (call: HostCallName): JobCause => ({
  name: "host_stuck",
  code: 0,
  call,
  message:
    `the die host did not answer '${call}' within ${limitMs(call)} ms, so it is stuck in a ` +
    "driver call; it is replaced",
});

const stuckCause = (job: Job): JobCause => ({
  name: "host_stuck",
  code: 0,
  call: "die host",
  message:
    `${job.entry} was not launched within ${String(Math.round(prepareMs(job)))} ms, so its die ` +
    "host is stuck, perhaps in a file that gives nothing; it is replaced",
});

/** The cause told to jobs that were in flight in a host that ended without being told to. */
const deathCause = (how: string, pid: number | null): JobCause => ({
  name: "die_host_died",
  code: 0,
  call: "die host",
  message: `die host ${pid === null ? "" : `${String(pid)} `}${how}`,
});

type PendingCall = {
  readonly settle: (result: Result<unknown, HostFailure>) => void;
  readonly finish: ((result: JobResult) => void) | null;
};

export type HostLinkOptions = {
  readonly clock: EventClock;
  /** Takes what the host has to say unasked. */
  readonly onNote: (line: string) => void;
};

/** Opens the link to a host that was just started. */
export function openHostLink(transport: HostTransport, options: HostLinkOptions): HostLink {
  const { clock, onNote } = options;
  const pending = new Map<number, PendingCall>();
  let nextId = 1;
  let cause: JobCause | null = null;
  let markDead: (cause: JobCause) => void = () => undefined;
  const died = new Promise<JobCause>((resolve) => (markDead = resolve));

  const send = (
    call: HostCallName,
    body: object,
    finish: PendingCall["finish"],
  ): Promise<Result<unknown, HostFailure>> =>
    new Promise((settle) => {
      if (cause !== null) {
        settle(err({ kind: "lost", cause }));
        finish?.({ status: "lost", cause });
        return;
      }
      const id = nextId++;
      pending.set(id, { settle, finish });
      transport.write(encodeFrame({ id, call, body } as HostRequest));
    });

  // Whoever is first to know tells everybody at once: a process that is being killed may take a
  // while to go, and nothing that it says meanwhile counts any more.
  const end = (told: JobCause): void => {
    if (cause !== null) return;
    cause = told;
    for (const call of pending.values()) {
      call.settle(err({ kind: "lost", cause: told }));
      call.finish?.({ status: "lost", cause: told });
    }
    pending.clear();
    markDead(told);
  };

  const kill = (told: JobCause): void => {
    end(told);
    transport.kill();
  };
  const take = createTaker(pending, onNote);
  transport.onData((chunk) => {
    try {
      if (cause === null) take(chunk);
    } catch (error) {
      // Only overwritten memory in the host can send what is no frame of ours.
      kill(deathCause(`sent what is no frame: ${String(error)}`, transport.pid));
    }
  });
  const ended = endOf(transport, (how) => end(deathCause(how, transport.pid)));

  const { start, turnOf } = createStarter(clock, (body, finish) => send("start", body, finish));
  return {
    pid: transport.pid,
    died,
    ended,
    kill,
    start,
    call: (call, body) => {
      const answer = send(call, body, null);
      // A call on a die waits for the jobs that were given to the die before it.
      const turn = turnOf("die" in body ? body.die : null) ?? Promise.resolve();
      const giveUp = (): void => kill(stuckCallCause(call));
      const watch = afterTurn(turn, () => clock.after(limitMs(call), giveUp));
      void answer.then(watch.cancel);
      return answer as never;
    },
  };
}

/** Settles with how the process ended, once `onEnd` was told. */
function endOf(transport: HostTransport, onEnd: (how: string) => void): Promise<string> {
  return new Promise((resolve) => {
    transport.onEnd((how) => {
      onEnd(how);
      resolve(how);
    });
  });
}

/** Takes what a host sends, and settles what it answers. Throws on what is no frame. */
function createTaker(
  pending: Map<number, PendingCall>,
  onNote: (line: string) => void,
): (chunk: Buffer) => void {
  const read = createFrameReader();
  return (chunk) => {
    for (const frame of read(chunk)) {
      const message = frame as HostMessage;
      if (message.kind === "note") onNote(message.line);
      else receive(pending, message);
    }
  };
}

type SendStart = (
  body: HostCalls["start"]["request"],
  finish: (result: JobResult) => void,
) => Promise<Result<unknown, HostFailure>>;

/** Sends one job's start. */
type SendJob = (finish: (result: JobResult) => void) => Promise<Result<unknown, HostFailure>>;

/** Starts jobs, and knows whose turn it is: a host runs each die's one after the other. */
function createStarter(
  clock: EventClock,
  sendStart: SendStart,
): {
  readonly start: HostLink["start"];
  /** Settles once the jobs that the die has been given have ended; null where it has none. */
  readonly turnOf: (die: number | null) => Promise<unknown> | null;
} {
  /** The end of each die's latest job. */
  const lastJobs = new Map<number, Promise<unknown>>();
  const start: HostLink["start"] = (die, job) => {
    const turn = lastJobs.get(die) ?? null;
    const sendJob: SendJob = (finish) => sendStart({ die, job }, finish);
    const started = startJob(clock, job, turn, sendJob);
    // Where a job takes the host with it, nobody's turn comes any more.
    const end = new Promise<void>((resolve) => {
      void started.finished.then((result) => {
        if (!endsHost(result)) resolve();
      });
    });
    lastJobs.set(die, end);
    return started;
  };
  return { start, turnOf: (die) => (die === null ? null : (lastJobs.get(die) ?? null)) };
}

const endsHost = ({ status }: JobResult): boolean =>
  status === "device_error" || status === "timeout" || status === "lost";

/**
 * Sends a job, and tells it of a timeout where its host has been silent for too long: before the
 * launch, from when its turn came, and after it.
 */
function startJob(
  clock: EventClock,
  job: Job,
  turn: Promise<unknown> | null,
  sendJob: SendJob,
): StartedJob {
  let finish: (result: JobResult) => void = () => undefined;
  const finished = new Promise<JobResult>((resolve) => (finish = resolve));
  let hasTurn = turn === null;
  void turn?.then(() => (hasTurn = true));
  const sent = sendJob((result) =>
    finish(result.status === "lost" && !hasTurn ? { ...result, wasWaiting: true } : result),
  );
  const stuck = afterTurn(turn ?? Promise.resolve(), () =>
    clock.after(prepareMs(job), () => finish({ status: "timeout", cause: stuckCause(job) })),
  );
  const launched = sent.then((result) => {
    stuck.cancel();
    if (!result.ok) return result;
    const timeout: JobResult = { status: "timeout", cause: timeoutCause(job) };
    const callOff = clock.after(silenceMs(job), () => finish(timeout));
    void finished.then(callOff);
    return ok(undefined);
  });
  return { launched, finished };
}

/** Begins something once `turn` has come, unless it is cancelled before; then it never begins. */
function afterTurn(turn: Promise<unknown>, begin: () => () => void): { cancel: () => void } {
  let isCancelled = false;
  let end: () => void = () => undefined;
  void turn.then(() => {
    if (!isCancelled) end = begin();
  });
  return {
    cancel: () => {
      isCancelled = true;
      end();
    },
  };
}

/** Settles the call that a message belongs to. */
function receive(
  pending: Map<number, PendingCall>,
  message: Exclude<HostMessage, { readonly kind: "note" }>,
): void {
  const call = pending.get(message.id);
  invariant(
    call !== undefined,
    `a die host answered call ${String(message.id)}, which is not open`,
  );
  switch (message.kind) {
    case "reply":
      call.settle(ok(message.body));
      if (call.finish === null) pending.delete(message.id);
      return;
    case "failure":
      call.settle(err(message.failure));
      call.finish?.({
        status: message.failure.kind === "lost" ? "device_error" : "refused",
        cause: message.failure.cause,
      });
      pending.delete(message.id);
      return;
    case "finished":
      // A job that was over before its launch was reported, e.g. refused, settles both.
      if (message.result.status === "ok") call.settle(ok({}));
      else call.settle(err({ kind: "refused", cause: message.result.cause }));
      call.finish?.(message.result);
      pending.delete(message.id);
  }
}
