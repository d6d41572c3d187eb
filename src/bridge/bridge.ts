/** Serves mailboxes: polls all of them in one loop, and runs their jobs on the owner's dies. */
import { join } from "node:path";

import { err, FileError, invariant, makeFolder, ok, type Result } from "../base/mod.ts";
import type {
  Bridge,
  BridgeError,
  BridgeOptions,
  CreateBridge,
  MailboxCounters,
  RecordOutcome,
} from "./bridge-api.ts";
import { DieRunner } from "./die-runner.ts";
import { FolderWatch } from "./folder-watch.ts";
import type { Mailbox } from "./mailbox.ts";
import { takeMailboxLock, type MailboxLock } from "./mailbox-lock.ts";
import { findMailboxFault } from "./mailbox-rules.ts";
import { MailboxServer } from "./mailbox-server.ts";
import { ModuleDirectory } from "./module-directory.ts";
import { NoticeLog } from "./notice-log.ts";
import { napOnThread, Pacer } from "./pacer.ts";
import { createProtocolV1 } from "./protocol-v1.ts";
import { createProtocolV2 } from "./protocol-v2.ts";
import { realPathOf } from "./real-path.ts";
import { lockName, stateFolder, stateName } from "./sequence-state.ts";

/**
 * Makes a bridge. Its mailboxes are this process's from now until `stop`; none of their files is
 * touched before `run`.
 */
export const createBridge: CreateBridge = (options) => {
  const fault = findMailboxFault(options.mailboxes);
  if (fault !== null) return err({ code: "bad_mailbox", message: fault });
  const locks = takeLocks(options);
  return locks.ok ? ok(new MailboxBridge(options, locks.value)) : locks;
};

/** A mailbox's file in the state folder, without its ending; null where there is none. */
function statePathOf({ stateDirectory }: BridgeOptions, mailbox: Mailbox): string | null {
  return stateDirectory === null ? null : join(stateFolder(stateDirectory), stateName(mailbox));
}

/** Takes all mailboxes for this process, or none; nothing where there is no state folder. */
function takeLocks(options: BridgeOptions): Result<readonly MailboxLock[], BridgeError> {
  const { stateDirectory, mailboxes, log } = options;
  if (stateDirectory === null) return ok([]);
  const folder = stateFolder(stateDirectory);
  const locks: MailboxLock[] = [];
  try {
    makeFolder(folder, 0o700);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    // Each mailbox tells of it when there is something to keep.
    return ok(locks);
  }
  // By its job file two daemons would run each job twice, by its done file write over each other.
  const claims = mailboxes.flatMap(({ name, job, done }) => [
    { name, path: job },
    { name, path: done },
  ]);
  for (const { name, path } of claims) {
    const taken = takeMailboxLock(join(folder, lockName(realPathOf(path))));
    if (taken.ok) {
      locks.push(taken.value);
    } else if (taken.error.code === "taken") {
      for (const lock of locks) lock.release();
      const holder = `process ${taken.error.pid} serves ${path} already`;
      const message = `${name}: ${holder}: stop it, or give each its own files`;
      return err({ code: "mailbox_taken", message });
    } else {
      log(`bridge ${name}: no lock, going on without: ${taken.error.message}`);
    }
  }
  return ok(locks);
}

class MailboxBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #locks: readonly MailboxLock[];
  readonly #runner: DieRunner;
  readonly #pacer: Pacer;
  /** None where the pause is fixed: then nothing else is to end it. */
  readonly #watches: readonly FolderWatch[];
  readonly #servers: ReadonlyMap<string, MailboxServer>;
  #isServing = false;
  #isStopping = false;
  #bug: Error | null = null;
  /** Takes the outcome that `runOnce` waits for; null where nobody does. */
  #onFirst: ((outcome: RecordOutcome) => void) | null = null;

  constructor(options: BridgeOptions, locks: readonly MailboxLock[]) {
    this.#options = options;
    this.#locks = locks;
    this.#runner = new DieRunner(options.owner);
    const pace = { pollUs: options.pollUs, mailboxes: options.mailboxes.length };
    this.#pacer = new Pacer(pace, {
      nowMs: options.clock.nowMs,
      after: (ms, callback) => {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
      nap: napOnThread,
      turn: () => new Promise((resolve) => setImmediate(resolve)),
      onRest: () => this.#watches.forEach((watch) => watch.arm()),
    });
    this.#watches =
      options.pollUs === null
        ? options.mailboxes.map(
            ({ job }) => new FolderWatch(job, options.clock.nowMs, () => this.#pacer.active()),
          )
        : [];
    this.#servers = new Map(
      options.mailboxes.map((mailbox) => [mailbox.name, this.#createServer(mailbox)]),
    );
  }

  readonly run = async (): Promise<void> => {
    await this.#serve(() => false);
  };

  readonly runOnce = async (): Promise<RecordOutcome | null> => {
    let first: RecordOutcome | null = null;
    this.#onFirst = (outcome) => void (first ??= outcome);
    await this.#serve(() => first !== null);
    this.#onFirst = null;
    return first;
  };

  readonly stop = (): void => {
    this.#isStopping = true;
    this.#pacer.active();
    if (!this.#isServing) this.#release();
  };

  readonly counters = (): ReadonlyMap<string, MailboxCounters> =>
    new Map([...this.#servers].map(([name, { counters }]) => [name, counters.read()]));

  #createServer(mailbox: Mailbox): MailboxServer {
    const { baseModule, clock, log, printJobLine } = this.#options;
    const notices = new NoticeLog((text) => log(`bridge ${mailbox.name}: ${text}`), clock);
    const statePath = statePathOf(this.#options, mailbox);
    return new MailboxServer({
      mailbox,
      clock,
      notices,
      printJobLine,
      protocol:
        mailbox.version === 1
          ? createProtocolV1({ mailbox, baseModule })
          : createProtocolV2({
              mailbox,
              baseModule,
              modules:
                mailbox.modules === null
                  ? null
                  : new ModuleDirectory({ folder: mailbox.modules, clock, notices }),
            }),
      statePath: statePath === null ? null : `${statePath}.state`,
      run: this.#runner.forMailbox(mailbox.dies),
      onOutcome: (outcome) => this.#onFirst?.(outcome),
      onIdle: () => this.#pacer.active(),
      onLeaving: () => this.stop(),
      onBug: (bug) => {
        this.#bug ??= bug;
        this.#pacer.active();
      },
    });
  }

  /** Polls until `isOver`, or `stop`; then waits for what is under way. */
  async #serve(isOver: () => boolean): Promise<void> {
    invariant(!this.#isServing, "a bridge serves once at a time");
    this.#isServing = true;
    const servers = [...this.#servers.values()];
    if (this.#options.mailboxes.some(({ dies }) => dies === null)) this.#runner.prepare();
    const isEnd = (): boolean => this.#isStopping || this.#bug !== null || isOver();
    while (!isEnd()) {
      let isActive = false;
      for (const server of servers) {
        if (isEnd() || server.isRunning()) continue;
        if (server.poll()) isActive = true;
      }
      if (isActive) this.#pacer.active();
      if (isEnd()) break;
      // With nothing to look at, the thread is left to the jobs' results.
      const isAllRunning = servers.every((server) => server.isRunning());
      await (isAllRunning ? this.#pacer.woken() : this.#pacer.pause());
    }
    for (const watch of this.#watches) watch.close();
    await Promise.all(servers.map((server) => server.settled()));
    for (const server of servers) server.finish();
    this.#isServing = false;
    if (this.#isStopping) this.#release();
    if (this.#bug !== null) throw this.#bug;
  }

  #release(): void {
    for (const lock of this.#locks) lock.release();
  }
}
