/**
 * What the owner offers its frontends, and what it says of what it did: plain values, so that each
 * frontend puts them in its own words. Dies are numbered 0..31.
 */
import type { Result } from "../base/mod.ts";
import type { BackendName } from "../gpu/mod.ts";
import type { BringUpStep } from "./journal.ts";
import type { Job, JobCause, JobResult } from "./job.ts";
import type { Wedge } from "./wedge.ts";

/** Dies one owner can hold: the seed's limit, and a full box of K80s. */
export const DIES_MAX = 32;

/** `work` adds 1.0 this many times at most: f32 counts exactly below 2^24. */
export const WORK_ITERS_MAX = 2 ** 24 - 1;

/** DESIGN section 4. */
export type DieState =
  "absent" | "discovered" | "in-slot" | "bound" | "online" | "faulted" | "lost";

/** Why the owner did not do what it was asked. The owner goes on. */
export type OwnerRefusalCode =
  /** No such die on this machine. */
  | "no_such_die"
  /** The die must be brought online first. */
  | "not_online"
  /** `read` without `work`, or the work was lost with its die host. */
  | "no_work"
  /** The window could not be moved. */
  | "slot_failed"
  /** A bring-up step failed; the message names it. */
  | "bring_up_failed"
  /** The die or its host failed; the message names the cause. */
  | "die_failed"
  /** No backend or device. */
  | "no_device"
  /** The owner is leaving. */
  | "leaving"
  /** It takes no further work, or touches no die at all, until `resume`. */
  | "draining"
  | "parked"
  /** What was asked for cannot be done behind this slot. */
  | "not_possible"
  /** An earlier climb of this rung took the host down; it is not repeated without being told to. */
  | "wedged_before"
  /** The rung could not be written to the journal, and was not climbed. */
  | "not_journalled";

export type OwnerRefusal = { readonly code: OwnerRefusalCode; readonly message: string };

/** Whether a rung was refused before anything of it was done. */
export const isHeldBack = ({ code }: OwnerRefusal): boolean =>
  code === "wedged_before" || code === "not_journalled";

export type DiscoveredDie = {
  readonly die: number;
  /** PCI address, or `soft:0` for a die of the software GPU. */
  readonly address: string;
  readonly deviceName: string;
};

export type Discovery = {
  readonly dies: readonly DiscoveredDie[];
  /** The die in the slot; null where the slot is free or every die is mapped. */
  readonly occupant: number | null;
};

export type OnlineReport = {
  readonly die: number;
  readonly wasOnline: boolean;
  readonly ordinal: number;
  readonly address: string;
  readonly deviceName: string;
  /** Device addresses of the work kernel's resident buffers. */
  readonly inputAddress: bigint;
  readonly outputAddress: bigint;
  /** From the first bring-up step to the probe kernel's right answer. */
  readonly elapsedMs: number;
};

export type ProbeReport = {
  readonly die: number;
  readonly address: string;
  /** False where the die was bound already. */
  readonly wasBoundNow: boolean;
  readonly deviceCount: number;
};

export type SwapReport = {
  readonly die: number;
  /** False where the die was in the slot already, or needs none. */
  readonly moved: boolean;
  /** From the request to the die in the window: the wait for its turn, then the move. */
  readonly elapsedMs: number;
  /**
   * The move alone; of it the board's part, and until the die host knew of it. 0 where nothing
   * moved. The rest is the journal's line, which is on the disk before the window moves.
   */
  readonly moveMs: number;
  readonly boardMs: number;
  readonly noticeMs: number;
};

export type WorkReport = {
  readonly die: number;
  readonly seed: number;
  readonly iters: number;
  readonly gridBlocks: number;
};

export type ReadReport = {
  readonly die: number;
  /** True where every element is bit for bit what the CPU reference says. */
  readonly pass: boolean;
  readonly bad: number;
  readonly checked: number;
  readonly iters: number;
  readonly seed: number;
  /** First and last element of the output. */
  readonly firstSample: number;
  readonly lastSample: number;
  /** The first wrong element. */
  readonly firstBad: {
    readonly index: number;
    readonly expected: number;
    readonly actual: number;
  } | null;
  readonly kernelNs: number;
};

export type DieStatus = {
  readonly die: number;
  readonly state: DieState;
  /** The driver has it, whatever became of our context. */
  readonly isBound: boolean;
  /** True only while a probe kernel on its context still answers right. */
  readonly ready: boolean;
  readonly ordinal: number | null;
  readonly address: string | null;
  readonly deviceName: string | null;
  readonly isBusy: boolean;
  /** Device memory, as of the last time the die could be asked without a swap. */
  readonly memory: { readonly freeBytes: number; readonly totalBytes: number } | null;
  readonly hasPendingRead: boolean;
  /** Process id of the die host. */
  readonly hostPid: number | null;
  /** How many times its die host was replaced. */
  readonly restarts: number;
  /** Why it is faulted or lost; the last cause stays readable after it recovered. */
  readonly lastCause: JobCause | null;
  /** Requests that wait for the die to come into its window. */
  readonly waiting: number;
  /**
   * What was noticed on it since the owner started, the latest first; nothing of it is held against
   * it.
   */
  readonly faults: readonly FaultCount[];
};

/**
 * How far the owner has stopped. `draining`: what was accepted runs to its end, nothing further is
 * taken. `drained`: all of it has ended. `parked`: drained, and no die is touched at all any more,
 * by a probe or a swap neither. Contexts stay resident and the slot stays mapped in all of them.
 */
export type OwnerMode = "serving" | "draining" | "drained" | "parked";

/** What a drain found, and what became of it. */
export type DrainReport = {
  /**
   * How far the owner has stopped by now: `drained`, or beyond; `draining` where the time given was
   * over first; `serving` where `resume` was.
   */
  readonly mode: OwnerMode;
  /** What was accepted before, and has ended since: well, or with an error or a refusal. */
  readonly endedOk: number;
  readonly endedBadly: number;
  /** What is still under way, in words. */
  readonly left: readonly string[];
  readonly elapsedMs: number;
};

/** What a die held when it was torn down. */
export type DieTeardown = {
  readonly die: number;
  readonly modules: number;
  readonly buffers: number;
  /** Of those buffers. */
  readonly bytes: number;
};

/** What a teardown has destroyed. */
export type TeardownReport = {
  readonly dies: readonly DieTeardown[];
  /** Die hosts that had something to destroy, and how each ended, e.g. `ended with code 0`. */
  readonly hosts: readonly { readonly pid: number | null; readonly end: string }[];
  readonly elapsedMs: number;
};

/** How long moves of the window took, their failures left out. */
export type SwapTimes = {
  readonly count: number;
  /** The latest one. */
  readonly lastMs: number;
  /** Over the latest SWAPS_KEPT_MAX. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
};

/** One sort of fault that was seen on a die, or on a board. */
export type FaultCount = {
  /** `xid 79`, `off_bus`, `slot_lost`, `probe_wrong`, or a CUDA error's name. */
  readonly name: string;
  /** How often; the same line again within a few seconds is one. */
  readonly count: number;
  /** The latest. */
  readonly text: string;
  readonly atMs: number;
};

/** What a window shows, and who waits for it. */
export type WindowState = {
  readonly occupant: number | null;
  readonly isMoving: boolean;
  /** Leases that are out. */
  readonly leases: number;
  /** Requests that wait. */
  readonly waiting: number;
  /** How long the oldest of them has waited; 0 where none does. */
  readonly longestWaitMs: number;
  /** Since the occupant came; 0 where there is none. */
  readonly heldMs: number;
  /** Moves that failed. */
  readonly failedMoves: number;
};

/** One window of the owner's. */
export type WindowStatus = WindowState & {
  /** The group of dies that share it. */
  readonly group: number;
  /** Moves that were made. */
  readonly swaps: number;
  /** Null where it was never moved. */
  readonly swapTimes: SwapTimes | null;
};

export type OwnerStatus = {
  readonly backend: BackendName | null;
  readonly slot: "direct" | "bar_swap" | "sim";
  /** The die in the first window. */
  readonly activeDie: number | null;
  readonly driverLoaded: boolean;
  readonly cudaInitialised: boolean;
  /** Of all windows, as everything that follows. */
  readonly swaps: number;
  readonly dies: readonly DieStatus[];
  readonly mode: OwnerMode;
  readonly waiting: number;
  readonly swapTimes: SwapTimes | null;
  /** By which the windows are moved; null on a direct board. */
  readonly policy: { readonly minimumHoldMs: number; readonly maximumWaitMs: number } | null;
  /** By group, those that were used; none on a direct board. */
  readonly windows: readonly WindowStatus[];
  /** What was noticed and names no die. */
  readonly faults: readonly FaultCount[];
};

export type RungOutcome = "done" | "skipped" | "refused" | "hung" | "lost";

/** What became of a rung. */
export type RungReport = {
  readonly die: number;
  readonly step: BringUpStep;
  readonly outcome: RungOutcome;
  readonly elapsedMs: number;
  /** Why it was skipped or failed, or what it found; may be empty. */
  readonly detail: string;
};

export type LadderOptions = {
  /** The last rung to be climbed; null climbs all. */
  readonly until: BringUpStep | null;
  /** Between a rung's line in the journal and the rung, in milliseconds. */
  readonly pauseMs: number;
  readonly onRow?: (row: LadderRow) => void;
};

/** A rung that was climbed, or was not. */
export type LadderRow = RungReport & { readonly address: string | null };

export type LadderReport = {
  readonly rows: readonly LadderRow[];
  /**
   * `complete`: every die is up and has swapped. `stopped`: the climb ended where it was to.
   * `failed`: a rung did; others may have come up all the same.
   */
  readonly outcome: "complete" | "stopped" | "failed";
  /** The dies that answered last. */
  readonly online: readonly number[];
};

/** One long-lived owner of all dies. Every method may be called while others are under way. */
export type Owner = {
  readonly discover: () => Promise<Result<Discovery, OwnerRefusal>>;
  readonly online: (die: number) => Promise<Result<OnlineReport, OwnerRefusal>>;
  /**
   * Binds dies that are about to be brought online together, so that their host counts all of them;
   * on a direct board there is nothing to do. One that fails is logged, and told of by `online`.
   */
  readonly bindAll: (dies: readonly number[]) => Promise<void>;
  /** Into the slot, unblocked and bound beside the dies already bound; makes no context. */
  readonly probe: (die: number) => Promise<Result<ProbeReport, OwnerRefusal>>;
  readonly swap: (die: number) => Promise<Result<SwapReport, OwnerRefusal>>;
  /**
   * Launches the work kernel and does not wait. `seed` is a u32, `iters` at most WORK_ITERS_MAX.
   */
  readonly work: (
    die: number,
    seed: number,
    iters: number,
  ) => Promise<Result<WorkReport, OwnerRefusal>>;
  /** Waits for the work, copies it back and verifies it. */
  readonly read: (die: number) => Promise<Result<ReadReport, OwnerRefusal>>;
  /** How many devices the driver counts. */
  readonly count: () => Promise<Result<number, OwnerRefusal>>;
  readonly status: () => Promise<OwnerStatus>;
  /**
   * Lets the die's rungs (null: those of all dies) be climbed again that took the host down, or
   * that hung, and returns which these were. Nothing is climbed by it.
   */
  readonly retry: (die: number | null) => readonly Wedge[];
  /** Climbs every rung of every die, works on them and swaps over them. */
  readonly ladder: (options: LadderOptions) => Promise<LadderReport>;
  /** Runs any job on the die, bringing it online first where it is not. */
  readonly run: (die: number, job: Job) => Promise<JobResult>;
  /**
   * Takes no further work (refusal `draining`) and waits until what was accepted has ended, or for
   * `timeoutMs`. Results can be read, and health goes on. A second call waits for the same end.
   */
  readonly drain: (timeoutMs?: number) => Promise<DrainReport>;
  /** Drains, and from then on touches no die at all: no probe, swap or bring-up. */
  readonly park: () => Promise<DrainReport>;
  /** Serves again, from whatever level. What was torn down stays so until it is asked for. */
  readonly resume: () => void;
  /**
   * Parks, then destroys buffers, modules and contexts, in this order, and has the die hosts end by
   * themselves. `not_possible` behind a window.
   */
  readonly teardown: () => Promise<Result<TeardownReport, OwnerRefusal>>;
  /** It was torn down, and no die was brought online since. */
  readonly isTornDown: () => boolean;
  /**
   * Leaves at once and without teardown: nothing is destroyed or released. Die hosts end by
   * SIGKILL; once they have, or LEAVE_WAIT_MS are over, so does what the board has running.
   */
  readonly leave: () => Promise<void>;
};
