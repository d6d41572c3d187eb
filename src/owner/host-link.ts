/**
 * The owner's end of a die host: calls and their replies over one socket, and the news of its death.
 * What carries the frames is an argument, so that tests run the same code over a host in-process.
 */
import { err, invariant, ok, type Result } from "../base/mod.ts";
import {
  createFrameReader,
  encodeFrame,
  type HostCallName,
  type HostCalls,
  type HostFailure,
  type HostMessage,
  type HostRequest,
} from "./frames.ts";
import type { Job, JobCause, JobResult } from "./job.ts";

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
  /** Settles when the host is gone. */
  readonly died: Promise<JobCause>;
};

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

/** Opens the link to a host that was just started. */
export function openHostLink(transport: HostTransport): HostLink {
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

  const read = createFrameReader();
  transport.onData((chunk) => {
    try {
      if (cause !== null) return;
      for (const frame of read(chunk)) receive(pending, frame as HostMessage);
    } catch (error) {
      // Only overwritten memory in the host can send what is no frame of ours.
      kill(deathCause(`sent what is no frame: ${String(error)}`, transport.pid));
    }
  });
  transport.onEnd((how) => end(deathCause(how, transport.pid)));

  return {
    pid: transport.pid,
    died,
    kill,
    call: (call, body) => send(call, body, null) as never,
    start: (die, job) => {
      let finish: (result: JobResult) => void = () => undefined;
      const finished = new Promise<JobResult>((resolve) => (finish = resolve));
      const launched = send("start", { die, job }, finish).then((result) =>
        result.ok ? ok(undefined) : result,
      );
      return { launched, finished };
    },
  };
}

/** Settles the call that a message belongs to. */
function receive(pending: Map<number, PendingCall>, message: HostMessage): void {
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
