/** An owner and a bridge in this process, over files of their own, for commands that test them. */
import { dirname, join } from "node:path";
import { err, makeFolder, ok, systemClock, type Log, type Result } from "../../base/mod.ts";
import {
  createBridge,
  type Mailbox,
  type MailboxCounters,
  type MailboxV1,
  type MailboxV2,
  type VerifyMode,
} from "../../bridge/mod.ts";
import type { OpenedOwner } from "../open-owner.ts";

export type BridgeSession = {
  /** Counted so far for the mailbox of that name. */
  readonly counters: (name: string) => MailboxCounters;
  /** The greppable lines so far, first to last. */
  readonly jobLines: readonly string[];
};

export type SessionOptions = {
  readonly opened: OpenedOwner;
  readonly mailboxes: readonly Mailbox[];
  /** Of the bridge; beside the mailboxes, so that nothing else of the machine is touched. */
  readonly stateDirectory: string;
  readonly printJobLine: (line: string) => void;
  readonly log: Log;
};

/**
 * Serves the mailboxes for as long as `action` takes. The error says why they cannot be served. A
 * bridge that ends under the action is a bug, and is thrown.
 */
export async function withBridge<T>(
  options: SessionOptions,
  action: (session: BridgeSession) => Promise<T>,
): Promise<Result<T, string>> {
  const { opened, mailboxes, stateDirectory, printJobLine, log } = options;
  const jobLines: string[] = [];
  const created = createBridge({
    owner: opened.owner,
    mailboxes,
    baseModule: { name: "base.ptx", path: opened.basePayload },
    stateDirectory,
    pollUs: null,
    printJobLine: (line) => {
      jobLines.push(line);
      printJobLine(line);
    },
    log,
    clock: systemClock,
  });
  if (!created.ok) return err(created.error.message);
  const bridge = created.value;
  const serving = bridge.run();
  const counters = (name: string): MailboxCounters => bridge.counters().get(name) ?? NONE_COUNTED;
  try {
    return ok(await Promise.race([action({ counters, jobLines }), endless(serving)]));
  } finally {
    bridge.stop();
    await serving;
  }
}

const NONE_COUNTED: MailboxCounters = { jobs: 0, statuses: {}, rejected: {}, repeated: 0 };

/** Rejects where the promise does, and never resolves. */
const endless = (promise: Promise<void>): Promise<never> =>
  promise.then(() => new Promise<never>(() => undefined));

export type MailboxOptions = {
  readonly name: string;
  /** For records that name none; what they may ask for is the same. */
  readonly timeoutMs: number;
  readonly verify: VerifyMode;
};

/** A v2 mailbox in a folder of its own, made here, under `folder`; its modules are our kernels. */
export function mailboxV2In(
  folder: string,
  options: MailboxOptions,
  { basePayload }: Pick<OpenedOwner, "basePayload">,
): MailboxV2 {
  const own = ownFolder(folder, options.name);
  const [input, out, modules] = [join(own, "in"), join(own, "out"), dirname(basePayload)];
  return { ...mailboxIn(own, options), version: 2, in: input, out, modules };
}

/** A v1 mailbox likewise, over a RAM file that the caller makes. */
export function mailboxV1In(
  folder: string,
  options: MailboxOptions,
  memory: Pick<MailboxV1, "ram" | "ramLowBytes">,
): MailboxV1 {
  return { ...mailboxIn(ownFolder(folder, options.name), options), version: 1, ...memory };
}

function ownFolder(folder: string, name: string): string {
  const own = join(folder, name);
  makeFolder(own);
  return own;
}

const mailboxIn = (folder: string, { timeoutMs, ...options }: MailboxOptions) => ({
  job: join(folder, "job"),
  done: join(folder, "done"),
  dies: null,
  timeoutMs,
  timeoutMaxMs: timeoutMs,
  forgetSequence: true,
  ...options,
});
