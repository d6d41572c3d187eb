/** What the owner knows of one die. */
import { createMutex, type Mutex } from "../base/mod.ts";
import type { BoardDie } from "../board/mod.ts";
import type { DeviceInfo } from "../gpu/mod.ts";
import { nextState } from "./die-state.ts";
import { FaultCounts } from "./fault-counts.ts";
import type { HostKeeper } from "./host-keeper.ts";
import type { JobCause, JobResult } from "./job.ts";
import type { DieState } from "./reports.ts";

/** Work that was launched and not yet read. */
export type PendingWork = {
  readonly seed: number;
  readonly iters: number;
  /** Never rejects. */
  readonly finished: Promise<JobResult>;
  /** Set when there will be no result: it was lost with its die host, or the work ended badly. */
  lostCause: JobCause | null;
  /** Somebody has had the result. */
  wasRead: boolean;
};

/** What bring-up made in the die's context. */
export type Residence = {
  readonly ordinal: number;
  readonly device: DeviceInfo;
  readonly inputAddress: bigint;
  readonly outputAddress: bigint;
};

export class Die {
  readonly number: number;
  readonly board: BoardDie;
  readonly keeper: HostKeeper;
  /** Held during bring-up, so that two requests do not bring one die up twice. */
  readonly bringUpLock: Mutex = createMutex();
  /** Held by `work` until it is launched and by `read` until it has read: they share buffers. */
  readonly workLock: Mutex = createMutex();
  #state: DieState = "absent";
  residence: Residence | null = null;
  pending: PendingWork | null = null;
  memory: { readonly freeBytes: number; readonly totalBytes: number } | null = null;
  lastCause: JobCause | null = null;
  /** The last probe kernel's answer was right, and nothing was lost since. */
  isReady = false;
  /** The operator brought it online: from then on it is brought back when it was lost. */
  isWanted = false;
  /** It was serving when it was lost. One that fails while it comes up is not tried without end. */
  wasServing = false;
  restarts = 0;
  readonly faults = new FaultCounts();
  /** Something was noticed on it, and it has not answered a probe kernel since. */
  isCheckDue = false;
  /** How often something was: a probe that was sent before the last time says nothing of that. */
  notices = 0;
  /** When it is to be brought back next, after that failed; null where nothing is planned. */
  retry: { readonly pauseMs: number; readonly atMs: number } | null = null;

  constructor(board: BoardDie, keeper: HostKeeper) {
    this.number = board.die;
    this.board = board;
    this.keeper = keeper;
    this.state = "discovered";
  }

  get state(): DieState {
    return this.#state;
  }

  /** Checked against the table of states. */
  set state(next: DieState) {
    this.#state = nextState(this.#state, next);
  }

  /** True while a context is resident for it. */
  get isOnline(): boolean {
    return this.#state === "online";
  }

  /** Work was launched on it whose result is there, or will be, and was not given up. */
  get hasResult(): boolean {
    return this.pending !== null && this.pending.lostCause === null;
  }

  /** Its context holds a result that nobody has read yet. */
  get hasUnread(): boolean {
    return this.pending !== null && !this.pending.wasRead && this.pending.lostCause === null;
  }

  /** Its context was destroyed on purpose. It is not brought back until somebody asks for it. */
  tearDown(cause: JobCause): void {
    if (["in-slot", "bound", "online"].includes(this.#state)) this.state = "discovered";
    this.isWanted = false;
    this.wasServing = false;
    this.retry = null;
    this.#forgetContext(cause);
  }

  /** Its bring-up came to no good end, in a way that leaves it in this state. */
  giveUp(state: "faulted" | "lost", cause: JobCause): void {
    if (state !== this.#state) this.state = state;
    this.lastCause = cause;
  }

  /**
   * Its context is gone, with all that was in it. `how` is faulted for the die that failed itself.
   */
  lose(how: "faulted" | "lost", cause: JobCause): void {
    this.wasServing = this.isOnline;
    if (how !== this.#state) this.state = how;
    this.lastCause = cause;
    this.#forgetContext(cause);
  }

  #forgetContext(cause: JobCause): void {
    this.isCheckDue = false;
    this.residence = null;
    this.memory = null;
    this.isReady = false;
    if (this.pending !== null) this.pending.lostCause ??= cause;
  }
}
