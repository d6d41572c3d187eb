/**
 * The owner's reports as log lines. Others grep these: names, order and spelling of keys stay as
 * they are, and new keys are added at the end.
 */
import {
  WORK_ELEMENTS,
  type DieStatus,
  type DieTeardown,
  type Discovery,
  type DrainReport,
  type FaultCount,
  type OnlineReport,
  type OwnerStatus,
  type ProbeReport,
  type ReadReport,
  type SwapReport,
  type SwapTimes,
  type TeardownReport,
  type WindowStatus,
  type Wedge,
  type WorkReport,
} from "../owner/mod.ts";

/** What a device count tells of a board with one window. */
const COUNT_MEANING = "N=per-die ordinals, 1=always-ordinal-0";

export function discoveryLines(discovery: Discovery): string[] {
  const { dies, occupant } = discovery;
  // On the boards that this line was first written for it keeps the very words of then.
  const isK80 = dies.length > 0 && dies.every((die) => die.deviceName.includes("GK210"));
  const address = dies.find((die) => die.die === occupant)?.address ?? "none";
  const count = `${dies.length} ${isK80 ? "GK210 dies" : "dies"}`;
  return [
    `discover: ${count}; slot occupant idx=${occupant ?? -1} (${address})`,
    ...dies.map(({ die, address: at, deviceName }) =>
      isK80 ? ` gk210[${die}] = ${at}` : ` die[${die}] = ${at} (${deviceName})`,
    ),
  ];
}

export function onlineLine(report: OnlineReport): string {
  const { die, ordinal, inputAddress, outputAddress, address, deviceName } = report;
  const buffers = `in=${hexadecimal(inputAddress)} out=${hexadecimal(outputAddress)}`;
  const more = `bdf=${address} device="${deviceName}" elapsed_ms=${report.elapsedMs.toFixed(1)}`;
  const again = `was_online=${flag(report.wasOnline)}`;
  return `online ${die}: OK (ordinal=${ordinal} ${buffers} ${more} ${again})`;
}

export function probeLine(report: ProbeReport): string {
  const { die, address, wasBoundNow, deviceCount } = report;
  const bound = `bdf=${address} bound_now=${flag(wasBoundNow)}`;
  return `probe ${die}: OK (${bound}) cuDeviceGetCount = ${deviceCount} (${COUNT_MEANING})`;
}

export function swapLine(report: SwapReport): string {
  const { die, moved, elapsedMs, moveMs, boardMs, noticeMs } = report;
  const whole = `elapsed_ms=${elapsedMs.toFixed(3)} move_ms=${moveMs.toFixed(3)}`;
  const parts = `board_ms=${boardMs.toFixed(3)} notice_ms=${noticeMs.toFixed(3)}`;
  return `swap ${die}: OK (moved=${flag(moved)} ${whole} ${parts})`;
}

export function workLine(report: WorkReport): string {
  const { die, iters, gridBlocks } = report;
  const seed = `0x${report.seed.toString(16).padStart(8, "0")}`;
  return `work ${die}: launched (seed=${seed} iters=${iters} grid=${gridBlocks}) — not synced`;
}

/** The only line that says PASS or FAIL. */
export function readLine(report: ReadReport): string {
  const { die, pass, bad, checked, iters, firstSample, lastSample, firstBad } = report;
  const samples = `out[0]=${fixed(firstSample)} out[${WORK_ELEMENTS - 1}]=${fixed(lastSample)}`;
  const head = `read ${die}: ${pass ? "PASS" : "FAIL"} (sample ${samples}, expect in+${iters})`;
  const keys = `bad=${bad} checked=${checked} kernel_ns=${report.kernelNs}`;
  if (firstBad === null) return `${head} ${keys}`;
  const { index, expected, actual } = firstBad;
  return `${head} ${keys} first_bad=${index} expected=${fixed(expected)} actual=${fixed(actual)}`;
}

export function retryLine(die: number, freed: readonly Wedge[]): string {
  if (freed.length === 0) return `retry ${die}: nothing was held back`;
  const rungs = freed.map(({ step, how }) => `${step} (${how})`);
  return `retry ${die}: OK rungs=${rungs.join(",")}; 'online ${die}' climbs them`;
}

export function countLine(count: number): string {
  return `count: cuDeviceGetCount = ${count} (${COUNT_MEANING})`;
}

/** Of `drain` and `park`; OK where all that was accepted has ended. */
export function drainLine(command: string, report: DrainReport): string {
  const { mode, endedOk, endedBadly, left, elapsedMs } = report;
  const isStopped = mode === "drained" || mode === "parked";
  const keys = `mode=${mode} ended_ok=${endedOk} ended_badly=${endedBadly} left=${left.length}`;
  const head = `${command}: ${isStopped ? "OK" : "not stopped"}`;
  return `${head} (${keys} elapsed_ms=${elapsedMs.toFixed(1)})`;
}

/** What was destroyed, and how each die host ended. */
export function teardownLines({ dies, hosts, elapsedMs }: TeardownReport): string[] {
  const sum = (of: (die: DieTeardown) => number): number =>
    dies.reduce((total, die) => total + of(die), 0);
  const [modules, buffers, bytes] = [
    sum((die) => die.modules),
    sum((die) => die.buffers),
    sum((die) => die.bytes),
  ];
  const held = `dies=${dies.length} modules=${modules} buffers=${buffers} bytes=${bytes}`;
  const clean = hosts.every(({ end }) => end === "ended with code 0");
  return [
    `teardown: ${clean ? "OK" : "not clean"} (${held} hosts=${hosts.length} ` +
      `elapsed_ms=${elapsedMs.toFixed(1)})`,
    ...hosts.map(({ pid, end }) => ` die host ${pid ?? -1} ${end}`),
  ];
}

export function statusLines(status: OwnerStatus): string[] {
  const { activeDie, driverLoaded, cudaInitialised, backend, slot, swaps } = status;
  const flags = `nvidia_loaded=${flag(driverLoaded)} cuda_inited=${flag(cudaInitialised)}`;
  const more = `backend=${backend ?? "none"} slot=${slot} swaps=${swaps}`;
  const { mode, waiting, policy, windows } = status;
  const times = swapTimesText(status.swapTimes);
  const hold = windows.length === 1 ? windows[0]?.heldMs : undefined;
  const queue = `mode=${mode} waiting=${waiting} hold_ms=${whole(hold)}`;
  const [holdMin, waitMax] = [policy?.minimumHoldMs, policy?.maximumWaitMs].map(whole);
  const faults = faultsText(status.faults);
  const limits = `hold_min_ms=${holdMin} wait_max_ms=${waitMax}`;
  return [
    `status: active_die=${activeDie ?? -1} ${flags} ${more} ${queue} ${limits} ${times} ${faults}`,
    ...(windows.length > 1 ? windows.map((window) => ` ${windowStatusLine(window)}`) : []),
    ...status.dies.map((die) => ` ${dieStatusLine(die)}`),
  ];
}

/** One of several; a lone window is told of in the first line. */
function windowStatusLine(window: WindowStatus): string {
  const { group, occupant, isMoving, leases, waiting, heldMs, longestWaitMs } = window;
  const keys = [
    `active_die=${occupant ?? -1} moving=${flag(isMoving)} leases=${leases} waiting=${waiting}`,
    `longest_wait_ms=${whole(longestWaitMs)} hold_ms=${whole(heldMs)}`,
    `swaps=${window.swaps} failed_moves=${window.failedMoves} ${swapTimesText(window.swapTimes)}`,
  ];
  return `window ${String(group).padStart(2)}: ${keys.join(" ")}`;
}

/** How long swaps took; -1 where there was none. */
function swapTimesText(times: SwapTimes | null): string {
  const measured = [
    ["last", times?.lastMs],
    ["p50", times?.p50Ms],
    ["p95", times?.p95Ms],
    ["p99", times?.p99Ms],
    ["max", times?.maxMs],
  ] as const;
  const text = (ms: number | undefined): string => (ms === undefined ? "-1" : ms.toFixed(3));
  return measured.map(([name, ms]) => `swap_${name}_ms=${text(ms)}`).join(" ");
}

/** How often each sort of fault was seen, the latest first. */
const faultsText = (faults: readonly FaultCount[]): string =>
  `faults="${faults.map(({ name, count }) => `${name}: ${count}`).join(", ")}"`;

const whole = (value: number | undefined): string => (value ?? -1).toFixed(0);

function dieStatusLine(status: DieStatus): string {
  const { die, state, lastCause } = status;
  const isOnline = state === "online";
  const keys = [
    `online=${flag(isOnline)} bound=${flag(status.isBound)} ctx_valid=${flag(isOnline)}`,
    `ordinal=${status.ordinal ?? -1} bdf=${status.address ?? "?"}`,
    `state=${state} ready=${flag(status.ready)} busy=${flag(status.isBusy)}`,
    `pending=${flag(status.hasPendingRead)} restarts=${status.restarts}`,
    `mem_free=${status.memory?.freeBytes ?? -1} mem_total=${status.memory?.totalBytes ?? -1}`,
    `host_pid=${status.hostPid ?? -1} device="${status.deviceName ?? "?"}"`,
    `cause="${lastCause === null ? "" : `${lastCause.name}: ${lastCause.message}`}"`,
    `waiting=${status.waiting} ${faultsText(status.faults)}`,
  ];
  return `die ${String(die).padStart(2)}: ${keys.join(" ")}`;
}

const flag = (value: boolean): string => (value ? "1" : "0");

const hexadecimal = (value: bigint): string => `0x${value.toString(16)}`;

/** As C's `%.1f` prints it, beyond 1e21 as well. */
function fixed(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Math.abs(value) < 1e21 ? value.toFixed(1) : `${String(BigInt(value))}.0`;
}
