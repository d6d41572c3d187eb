/** For tests of a mailbox's server: a mailbox in a folder, served by hand. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";

import type { Clock, InvariantError } from "../base/mod.ts";
import { statusName, type Cubb2Job } from "../records/mod.ts";
import type { RecordOutcome } from "./bridge-api.ts";
import { DieRunner } from "./die-runner.ts";
import type { Mailbox, MailboxV2 } from "./mailbox.ts";
import { MailboxServer } from "./mailbox-server.ts";
import { NoticeLog } from "./notice-log.ts";
import { createProtocolV1 } from "./protocol-v1.ts";
import { createProtocolV2 } from "./protocol-v2.ts";
import {
  createFastDies,
  doneIn,
  mailboxV2In,
  place,
  recordV2,
  testFolder,
  type FastDies,
  type FastDiesOptions,
} from "./testing.ts";

export type SiteOptions = FastDiesOptions & {
  readonly mailboxIn?: (box: string) => Mailbox;
  /** Where the folder is made. */
  readonly parent?: string;
};

/** A mailbox in a folder, served by hand, a poll at a time, over a clock that the test moves. */
export class Site {
  readonly folder: string;
  readonly dies: FastDies;
  readonly lines: string[] = [];
  readonly jobLines: string[] = [];
  readonly outcomes: RecordOutcome[] = [];
  readonly bugs: InvariantError[] = [];
  readonly mailbox: Mailbox;
  leavings = 0;
  nowMs = 1000;
  server: MailboxServer;

  constructor(context: TestContext, options: SiteOptions = {}) {
    const { mailboxIn = mailboxV2In, parent } = options;
    this.folder = testFolder(context, parent);
    mkdirSync(join(this.folder, "box"));
    this.dies = createFastDies(options);
    this.mailbox = mailboxIn(join(this.folder, "box"));
    writeFileSync(this.at("in"), new Uint8Array(Uint32Array.of(1, 2, 3, 4).buffer));
    this.server = this.restart();
  }

  at(name: string): string {
    return join(this.folder, "box", name);
  }

  get statePath(): string {
    return join(this.folder, "kept.state");
  }

  /** A daemon like the one before, that knows what is on disk alone. */
  restart(more: Partial<MailboxV2> = {}): MailboxServer {
    const mailbox = { ...this.mailbox, ...more } as Mailbox;
    const baseModule = { name: "base.ptx", path: "/base.ptx" };
    const clock: Clock = { nowMs: () => this.nowMs, sleep: () => Promise.resolve() };
    const notices = new NoticeLog((line) => this.lines.push(line), clock);
    this.server = new MailboxServer({
      mailbox,
      clock,
      notices,
      statePath: this.statePath,
      protocol:
        mailbox.version === 1
          ? createProtocolV1({ mailbox, baseModule })
          : createProtocolV2({ mailbox, baseModule, modules: null }),
      run: new DieRunner(this.dies).forMailbox(null),
      printJobLine: (line) => this.jobLines.push(line),
      onOutcome: (outcome) => this.outcomes.push(outcome),
      onIdle: () => undefined,
      onLeaving: () => (this.leavings += 1),
      onBug: (bug) => this.bugs.push(bug),
    });
    return this.server;
  }

  post(more: Partial<Cubb2Job> = {}): void {
    place(this.at("job"), recordV2(more));
  }

  /** Polls some times, and waits for what that starts. */
  async poll(times = 3): Promise<void> {
    for (let index = 0; index < times; index++) {
      if (!this.server.isRunning()) this.server.poll();
      await this.server.settled();
    }
  }

  /** `seq status` of the done record. */
  done(): string {
    const done = doneIn(join(this.folder, "box"));
    return done === null ? "none" : `${String(done.seq)} ${statusName(done.status)}`;
  }

  seqsRun(): readonly string[] {
    return this.dies.runs.map(({ job }) => job.check?.sampleSeed ?? "");
  }
}
