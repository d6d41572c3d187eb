/**
 * The owner's operations, over the table of dies. Each is one thing an operator can ask for; all
 * may be under way at once, and the window decides who goes when.
 */
import { ok, type Result } from "../base/mod.ts";
import { catalogueKernel, launchShape, WORK_ELEMENTS } from "../gpu/mod.ts";
import { bindDie, WORK_BUFFER_BYTES, WORK_INPUT, WORK_OUTPUT } from "./bring-up.ts";
import { DieTable, refuse, type OwnerOptions } from "./die-table.ts";
import type { Die, PendingWork } from "./die.ts";
import {
  describeCause,
  type Job,
  type JobCause,
  type JobResult,
  type ModuleReference,
} from "./job.ts";
import type {
  DieStatus,
  Owner,
  OwnerRefusal,
  OwnerStatus,
  ProbeReport,
  ReadReport,
  SwapReport,
  WorkReport,
} from "./reports.ts";

/** Makes the owner. It does nothing until asked: no host is started, no die is touched. */
export function createOwner(
  options: OwnerOptions & {
    /** How long the work kernel may run. */
    readonly workTimeoutMs: number;
  },
): Owner {
  const table = new DieTable(options);
  return {
    discover: () => table.discover(),
    online: async (number) => {
      const die = await table.dieOf(number);
      if (!die.ok) return die;
      if (die.value.isOnline) await checkHealth(table, die.value);
      return table.bringOnline(die.value);
    },
    probe: (number) => probe(table, number),
    swap: (number) => swap(table, number),
    work: (number, seed, iters) =>
      work(table, number, workJob({ ...options, seed, iters }), { seed, iters }),
    read: (number) => read(table, number),
    count: () => count(table),
    status: () => status(table),
    run: (number, job) => run(table, number, job),
    leave: () => {
      table.isLeaving = true;
      const message = "the owner has left";
      for (const keeper of table.keepers()) {
        keeper.kill({ name: "leaving", code: 0, call: "leave", message });
      }
    },
  };
}

/** The standing work: the seed's pattern in, slow_add, the result stays resident. */
function workJob(work: {
  readonly seed: number;
  readonly iters: number;
  readonly baseModule: ModuleReference;
  readonly workTimeoutMs: number;
}): Job {
  const kernel = catalogueKernel("slow_add");
  return {
    module: work.baseModule,
    entry: kernel.entry,
    ...launchShape(kernel, WORK_ELEMENTS),
    sharedBytes: 0,
    timeoutMs: work.workTimeoutMs,
    arguments: [
      { kind: "resident", buffer: WORK_OUTPUT, bytes: WORK_BUFFER_BYTES, source: null },
      {
        kind: "resident",
        buffer: WORK_INPUT,
        bytes: WORK_BUFFER_BYTES,
        source: { kind: "pattern", pattern: { kind: "work", seed: work.seed } },
      },
      { kind: "scalar", type: "u32", value: String(WORK_ELEMENTS) },
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
  const lease = await table.window.lease(number);
  if (!lease.ok) return lease;
  try {
    const wasBound = driver.isBound(number);
    const bound = await bindDie(table.options, number);
    if (!bound.ok) return refuse("bring_up_failed", describeCause(bound.error.cause));
    const counted = await countDevices(table, found.value);
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
  const lease = await table.window.lease(number);
  if (!lease.ok) return lease;
  lease.value.release();
  const elapsedMs = table.options.clock.nowMs() - startMs;
  return ok({ die: number, moved: lease.value.moved, elapsedMs });
}

async function work(
  table: DieTable,
  number: number,
  job: Job,
  { seed, iters }: { readonly seed: number; readonly iters: number },
): Promise<Result<WorkReport, OwnerRefusal>> {
  const serving = await table.serve(number);
  if (!serving.ok) return serving;
  const { die, lease } = serving.value;
  const started = die.keeper.link().start(number, job);
  const finished = started.finished.then((result) => {
    pending.isFinished = true;
    // The die stays busy, and in the slot, until its kernel has ended.
    lease.release();
    settleResult(table, die, result);
    return result;
  });
  const pending: PendingWork = { seed, iters, finished, isFinished: false, lostCause: null };
  die.pending = pending;
  const launched = await started.launched;
  if (launched.ok) return ok({ die: number, seed, iters, gridBlocks: job.grid[0] });
  if (die.pending === pending) die.pending = null;
  return refuse("die_failed", describeCause(launched.error.cause));
}

/** A job that ended badly on the device takes its die host with it. */
function settleResult(table: DieTable, die: Die, result: JobResult): void {
  if (result.status === "device_error" || result.status === "timeout")
    table.fail(die, result.cause);
}

async function read(table: DieTable, number: number): Promise<Result<ReadReport, OwnerRefusal>> {
  const found = await table.dieOf(number);
  if (!found.ok) return found;
  const die = found.value;
  const { pending } = die;
  if (pending === null) {
    return die.isOnline
      ? refuse("no_work", `nothing to read; run 'work ${String(number)} <seed> <iters>' first`)
      : refuse("not_online", `die not online; run 'online ${String(number)}' first`);
  }
  const result = await pending.finished;
  const lostCause = result.status === "ok" ? pending.lostCause : result.cause;
  if (result.status !== "ok" || lostCause !== null) {
    if (die.pending === pending) die.pending = null;
    return refuse("no_work", lostWorkMessage(number, pending, describeLost(lostCause)));
  }
  const serving = await table.serve(number);
  if (!serving.ok) return serving;
  const { seed, iters } = pending;
  try {
    const collected = await die.keeper.link().call("collect", {
      die: number,
      buffer: WORK_OUTPUT,
      elements: WORK_ELEMENTS,
      seed,
      iters,
    });
    if (!collected.ok) return table.settle(die, collected.error);
    const { kernelNs } = result.measures;
    const pass = collected.value.bad === 0 && collected.value.checked === WORK_ELEMENTS;
    return ok({ die: number, seed, iters, kernelNs, pass, ...collected.value });
  } finally {
    serving.value.lease.release();
  }
}

const describeLost = (cause: JobCause | null): string =>
  cause === null ? "unknown" : describeCause(cause);

const lostWorkMessage = (number: number, work: PendingWork, cause: string): string =>
  `the work (seed=${String(work.seed)} iters=${String(work.iters)}) has no result: ${cause}; ` +
  `launch it again with 'work ${String(number)} ${String(work.seed)} ${String(work.iters)}'`;

async function count(table: DieTable): Promise<Result<number, OwnerRefusal>> {
  if (
    table.options.board.slotKind !== "direct" &&
    !table.keepers().some((k) => k.isInitialised())
  ) {
    return refuse("not_online", "cuInit has not run; bring a die online first");
  }
  const die = await table.dieOf(0);
  return die.ok ? countDevices(table, die.value) : die;
}

async function countDevices(table: DieTable, die: Die): Promise<Result<number, OwnerRefusal>> {
  const ready = await die.keeper.initialise();
  if (!ready.ok) return refuse("no_device", describeCause(ready.error.cause));
  const counted = await die.keeper.link().call("count", {});
  return counted.ok ? ok(counted.value.devices) : table.settle(die, counted.error);
}

/** Asks a die that can answer now, without a swap, for the probe kernel and its memory. */
async function checkHealth(table: DieTable, die: Die): Promise<void> {
  const isMapped = table.window.occupant() === null || table.window.occupant() === die.number;
  if (!die.isOnline || !isMapped || table.window.isBusy(die.number)) return;
  const lease = await table.window.lease(die.number);
  if (!lease.ok) return;
  try {
    const module = table.options.baseModule;
    const link = die.keeper.link();
    const answer = await link.call("probe", { die: die.number, module });
    if (!answer.ok) {
      table.settle(die, answer.error);
      return;
    }
    die.isReady = answer.value.right;
    const memory = await link.call("memory", { die: die.number });
    if (memory.ok) die.memory = memory.value;
  } finally {
    lease.value.release();
  }
}

async function status(table: DieTable): Promise<OwnerStatus> {
  await Promise.all(table.dies().map((die) => checkHealth(table, die)));
  const dies = table.dies();
  const { board } = table.options;
  return {
    backend: dies.find(({ residence }) => residence !== null)?.residence?.device.backend ?? null,
    slot: board.slotKind,
    activeDie: table.window.occupant(),
    driverLoaded: board.driver.isLoaded(),
    cudaInitialised: table.keepers().some((keeper) => keeper.isInitialised()),
    swaps: table.window.swaps(),
    dies: dies.map((die) => dieStatus(table, die)),
  };
}

const dieStatus = (table: DieTable, die: Die): DieStatus => ({
  die: die.number,
  state: die.state,
  ready: die.isOnline && die.isReady,
  ordinal: die.residence?.ordinal ?? null,
  address: die.board.address,
  deviceName: die.residence?.device.name ?? die.board.name,
  isBusy: table.window.isBusy(die.number),
  memory: die.memory,
  hasPendingRead: die.pending !== null,
  hostPid: die.keeper.current()?.pid ?? null,
  restarts: die.restarts,
  lastCause: die.lastCause,
});

/** Any job, on a die that is brought online for it where it is not. */
async function run(table: DieTable, number: number, job: Job): Promise<JobResult> {
  const found = await table.dieOf(number);
  const online = found.ok ? await table.bringOnline(found.value) : found;
  const serving = online.ok ? await table.serve(number) : online;
  if (!serving.ok) return refusedResult(serving);
  const { die, lease } = serving.value;
  const result = await die.keeper.link().start(number, job).finished;
  lease.release();
  settleResult(table, die, result);
  return result;
}

/** The owner's own refusal, as a job's. */
function refusedResult(refused: Result<never, OwnerRefusal>): JobResult {
  const { code, message } = refused.ok ? { code: "no_device", message: "" } : refused.error;
  return { status: "refused", cause: { name: code, code: 0, call: "owner", message } };
}
