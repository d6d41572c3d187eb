/**
 * The owner's operations, over the table of dies. Each is one thing an operator can ask for; all
 * may be under way at once, and the window decides who goes when.
 */
import { err, ok, type Result } from "../base/mod.ts";
import { catalogueKernel, launchShape, WORK_ELEMENTS } from "../gpu/mod.ts";
import { WORK_INPUT, WORK_OUTPUT, workBufferBytes } from "./bring-up.ts";
import { refusalOf, rung, type BringUpTools } from "./bring-up-rung.ts";
import { bindAll, bindLeased, leasedTools } from "./climb.ts";
import { DieTable, refuse, type OwnerOptions, type Serving } from "./die-table.ts";
import type { Die, PendingWork } from "./die.ts";
import { climbLadder } from "./ladder.ts";
import {
  describeCause,
  type Job,
  type JobCause,
  type JobResult,
  type ModuleReference,
} from "./job.ts";
import type {
  DieStatus,
  OnlineReport,
  Owner,
  OwnerRefusal,
  OwnerStatus,
  ProbeReport,
  ReadReport,
  SwapReport,
  WorkReport,
} from "./reports.ts";
import { leave, teardown } from "./stop.ts";

/** Makes the owner. It does nothing until asked: no host is started, no die is touched. */
export function createOwner(
  options: OwnerOptions & {
    /** How long the work kernel may run. */
    readonly workTimeoutMs: number;
  },
): Owner {
  const table = new DieTable(options);
  const { gate } = table;
  let left: Promise<void> | null = null;
  let wasTornDown = false;
  const owner: Owner = {
    // Both may open the backend, as a first bring-up does.
    discover: () => accept(table, "discover", () => table.discover()),
    online: (number) => accept(table, `online ${String(number)}`, () => online(table, number)),
    probe: (number) => accept(table, `probe ${String(number)}`, () => probe(table, number)),
    swap: (number) => accept(table, `swap ${String(number)}`, () => swap(table, number)),
    bindAll: async (numbers) => {
      if (gate.workRefusal() === null) {
        await gate.track("binding dies", bindAll(table, numbers), () => true);
      }
    },
    work: (number, seed, iters) =>
      accept(table, `work ${String(number)}`, () =>
        inTurn(table, number, () =>
          work(table, number, workJob({ ...options, seed, iters }), { seed, iters }),
        ),
      ),
    // No new work: what was accepted is read while the owner drains, and after that.
    read: (number) =>
      gate.track(
        `read ${String(number)}`,
        inTurn(table, number, (die) => read(table, die)),
        isOk,
      ),
    count: () => accept(table, "count", () => count(table)),
    status: () => status(table),
    retry: (number) => {
      const address = number === null ? null : table.tools.addressOf(number);
      return table.wedges.allow(number, address);
    },
    ladder: (climbOptions) => climbLadder(table, owner, climbOptions),
    run: async (number, job) => {
      const name = `${job.entry} on die ${String(number)}`;
      const refused = gate.workRefusal();
      if (refused !== null) return refusedResult(refused);
      return gate.track(name, run(table, number, job), ({ status: how }) => how === "ok");
    },
    drain: (timeoutMs) => gate.drain(timeoutMs ?? null),
    park: () => gate.park(),
    resume: () => {
      gate.resume();
      table.restoreWanted();
      table.health.resume();
    },
    teardown: async () => {
      const done = await teardown(table);
      wasTornDown ||= done.ok;
      return done;
    },
    isTornDown: () => wasTornDown && !table.dies().some(({ isOnline }) => isOnline),
    leave: () => (left ??= leave(table)),
  };
  return owner;
}

const isOk = ({ ok: isWell }: Result<unknown, unknown>): boolean => isWell;

/** Does `task`, which a drain then waits for, or refuses it where no further work is taken. */
async function accept<T>(
  table: DieTable,
  name: string,
  task: () => Promise<Result<T, OwnerRefusal>>,
): Promise<Result<T, OwnerRefusal>> {
  return table.gate.workRefusal() ?? table.gate.track(name, task(), isOk);
}

async function online(
  table: DieTable,
  number: number,
): Promise<Result<OnlineReport, OwnerRefusal>> {
  const die = await table.dieOf(number);
  if (!die.ok) return die;
  if (die.value.isOnline) await table.health.check(die.value);
  return table.bringOnline(die.value);
}

/** Does `task` once no other `work` or `read` of that die is under way. */
async function inTurn<T>(
  table: DieTable,
  number: number,
  task: (die: Die) => Promise<Result<T, OwnerRefusal>>,
): Promise<Result<T, OwnerRefusal>> {
  const die = await table.dieOf(number);
  return die.ok ? die.value.workLock.run(() => task(die.value)) : die;
}

/** The standing work: the seed's pattern in, slow_add, the result stays resident. */
function workJob(work: {
  readonly seed: number;
  readonly iters: number;
  readonly baseModule: ModuleReference;
  readonly workTimeoutMs: number;
  readonly workElements?: number;
}): Job {
  const kernel = catalogueKernel("slow_add");
  const elements = work.workElements ?? WORK_ELEMENTS;
  const bytes = workBufferBytes(elements);
  return {
    module: work.baseModule,
    entry: kernel.entry,
    ...launchShape(kernel, elements),
    sharedBytes: 0,
    timeoutMs: work.workTimeoutMs,
    arguments: [
      { kind: "resident", buffer: WORK_OUTPUT, bytes, source: null },
      {
        kind: "resident",
        buffer: WORK_INPUT,
        bytes,
        source: { kind: "pattern", pattern: { kind: "work", seed: work.seed } },
      },
      { kind: "scalar", type: "u32", value: String(elements) },
      { kind: "scalar", type: "u32", value: String(work.iters) },
    ],
  };
}

/** The second-die rung on its own: into the slot, unblocked, bound, counted; no context. */
async function probe(table: DieTable, number: number): Promise<Result<ProbeReport, OwnerRefusal>> {
  const found = await table.dieOf(number);
  if (!found.ok) return found;
  const { driver } = table.options.board;
  if (!driver.isLoaded()) {
    return refuse("not_online", "bring a first die online first: nvidia is not loaded");
  }
  const lease = await table.lease(number);
  if (!lease.ok) return lease;
  try {
    const wasBound = driver.isBound(number);
    const bound = await bindLeased(table, found.value, lease.value);
    if (!bound.ok) return err(refusalOf(bound.error));
    const counted = await countDevices(table, found.value, leasedTools(table, lease.value));
    if (!counted.ok) return counted;
    const { address } = found.value.board;
    return ok({ die: number, address, wasBoundNow: !wasBound, deviceCount: counted.value });
  } finally {
    lease.value.release();
  }
}

async function swap(table: DieTable, number: number): Promise<Result<SwapReport, OwnerRefusal>> {
  const startMs = table.options.clock.nowMs();
  const die = await table.dieOf(number);
  if (!die.ok) return die;
  const lease = await table.lease(number);
  if (!lease.ok) return lease;
  lease.value.release();
  const elapsedMs = table.options.clock.nowMs() - startMs;
  const { move } = lease.value;
  const { wholeMs: moveMs, boardMs, noticeMs } = move ?? { wholeMs: 0, boardMs: 0, noticeMs: 0 };
  return ok({ die: number, moved: move !== null, elapsedMs, moveMs, boardMs, noticeMs });
}

async function work(
  table: DieTable,
  number: number,
  job: Job,
  { seed, iters }: { readonly seed: number; readonly iters: number },
): Promise<Result<WorkReport, OwnerRefusal>> {
  const serving = await table.serve(number);
  if (!serving.ok) return serving;
  const { die, lease, link } = serving.value;
  const started = link.start(number, job);
  const finished = started.finished.then((result) => {
    // The die stays busy, and in the slot, until its kernel has ended: one that goes on without
    // end is ended with its host before the window may move.
    settleResult(table, serving.value, result);
    lease.release();
    if (result.status !== "ok") pending.lostCause ??= result.cause;
    return result;
  });
  void table.gate.track(`the kernel on die ${number}`, finished, ({ status: how }) => how === "ok");
  const pending: PendingWork = { seed, iters, finished, lostCause: null, wasRead: false };
  die.pending = pending;
  const launched = await started.launched;
  if (launched.ok) return ok({ die: number, seed, iters, gridBlocks: job.grid[0] });
  if (die.pending === pending) die.pending = null;
  return refuse("die_failed", describeCause(launched.error.cause));
}

/** A job that ended badly on the device takes its die host with it. */
function settleResult(table: DieTable, { die, link }: Serving, result: JobResult): void {
  if (result.status === "device_error" || result.status === "timeout") {
    table.fail(die, link, result.cause);
  }
}

async function read(table: DieTable, die: Die): Promise<Result<ReadReport, OwnerRefusal>> {
  const { number, pending } = die;
  if (pending === null) {
    return die.isOnline
      ? refuse("no_work", `nothing to read; run 'work ${number} <seed> <iters>' first`)
      : refuse("not_online", `die not online; run 'online ${number}' first`);
  }
  const result = await pending.finished;
  if (result.status !== "ok") return refuseLostWork(die, pending, result.cause);
  const lostCause = lostCauseOf(pending);
  if (lostCause !== null) return refuseLostWork(die, pending, lostCause);
  const serving = await table.serve(number);
  if (!serving.ok) return serving;
  const { lease, link } = serving.value;
  const { seed, iters } = pending;
  try {
    // Asked again: the die may have been lost, and brought back, while this waited for its turn.
    const lateCause = lostCauseOf(pending);
    if (lateCause !== null) return refuseLostWork(die, pending, lateCause);
    const elements = table.options.workElements ?? WORK_ELEMENTS;
    const collected = await link.call("collect", {
      die: number,
      buffer: WORK_OUTPUT,
      elements,
      seed,
      iters,
    });
    if (!collected.ok) return table.settle(die, link, collected.error);
    const { kernelNs } = result.measures;
    pending.wasRead = true;
    const pass = collected.value.bad === 0 && collected.value.checked === elements;
    return ok({ die: number, seed, iters, kernelNs, pass, ...collected.value });
  } finally {
    lease.release();
  }
}

/** Read anew at each call: it changes while others wait. */
const lostCauseOf = (work: PendingWork): JobCause | null => work.lostCause;

/** Says once what became of work that has no result, and how to have it again. */
function refuseLostWork(die: Die, work: PendingWork, cause: JobCause): Result<never, OwnerRefusal> {
  if (die.pending === work) die.pending = null;
  const { seed, iters } = work;
  return refuse(
    "no_work",
    `the work (seed=${seed} iters=${iters}) has no result: ${describeCause(cause)}; ` +
      `launch it again with 'work ${die.number} ${seed} ${iters}'`,
  );
}

async function count(table: DieTable): Promise<Result<number, OwnerRefusal>> {
  const asked = table.dies().find(({ keeper }) => keeper.isInitialised());
  if (asked !== undefined) return countDevices(table, asked);
  if (table.options.board.slotKind !== "direct") {
    return refuse("not_online", "cuInit has not run; bring a die online first");
  }
  const die = await table.dieOf(0);
  return die.ok ? countDevices(table, die.value) : die;
}

async function countDevices(
  table: DieTable,
  die: Die,
  tools: BringUpTools = table.tools,
): Promise<Result<number, OwnerRefusal>> {
  const refused = table.gate.touchRefusal();
  if (refused !== null) return refused;
  const { keeper, number } = die;
  const link = keeper.link();
  if (!keeper.isInitialised()) {
    const at = { die: number, step: "initialise" } as const;
    const opened = await rung(tools, at, () => keeper.initialise(link));
    if (!opened.ok) {
      if (opened.error.kind === "lost") table.fail(die, link, opened.error.cause);
      return err(refusalOf(opened.error));
    }
  }
  const counted = await link.call("count", {});
  return counted.ok ? ok(counted.value.devices) : table.settle(die, link, counted.error);
}

async function status(table: DieTable): Promise<OwnerStatus> {
  await Promise.all(table.dies().map((die) => table.health.check(die)));
  const dies = table.dies();
  const { board } = table.options;
  const windows = table.windows.statuses();
  return {
    backend: dies.find(({ residence }) => residence !== null)?.residence?.device.backend ?? null,
    slot: board.slotKind,
    activeDie: table.windows.occupant(),
    driverLoaded: board.driver.isLoaded(),
    cudaInitialised: table.keepers().some((keeper) => keeper.isInitialised()),
    swaps: windows.reduce((sum, { swaps }) => sum + swaps, 0),
    dies: dies.map((die) => dieStatus(table, die)),
    mode: table.gate.mode,
    waiting: windows.reduce((sum, { waiting }) => sum + waiting, 0),
    swapTimes: table.windows.swapTimes(),
    policy: table.windows.policy,
    windows,
    faults: table.faults.list(),
  };
}

const dieStatus = (table: DieTable, die: Die): DieStatus => ({
  die: die.number,
  state: die.state,
  isBound: table.options.board.driver.isBound(die.number),
  ready: die.isOnline && die.isReady,
  ordinal: die.residence?.ordinal ?? null,
  address: die.board.address,
  deviceName: die.residence?.device.name ?? die.board.name,
  isBusy: table.windows.of(die.number).isBusy(die.number),
  memory: die.memory,
  hasPendingRead: die.hasResult,
  hostPid: die.keeper.current()?.pid ?? null,
  restarts: die.restarts,
  lastCause: die.lastCause,
  waiting: table.windows.of(die.number).waitingFor(die.number),
  faults: die.faults.list(),
});

/** Any job, on a die that is brought online for it where it is not. */
async function run(table: DieTable, number: number, job: Job): Promise<JobResult> {
  const found = await table.dieOf(number);
  const online = found.ok ? await table.bringOnline(found.value) : found;
  const serving = online.ok ? await table.serve(number) : online;
  if (!serving.ok) return refusedResult(serving);
  const { lease, link } = serving.value;
  const result = await link.start(number, job).finished;
  settleResult(table, serving.value, result);
  lease.release();
  return result;
}

/** The owner's own refusal, as a job's. */
function refusedResult(refused: Result<never, OwnerRefusal>): JobResult {
  const { code, message } = refused.ok ? { code: "no_device", message: "" } : refused.error;
  return { status: "refused", cause: { name: code, code: 0, call: "owner", message } };
}
