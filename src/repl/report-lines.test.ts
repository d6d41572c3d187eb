import assert from "node:assert/strict";
import { test } from "node:test";
import type { DieStatus, OwnerStatus, ReadReport, WindowStatus } from "../owner/mod.ts";
import {
  countLine,
  discoveryLines,
  onlineLine,
  probeLine,
  readLine,
  statusLines,
  swapLine,
  workLine,
} from "./report-lines.ts";

const gk210 = (die: number): { die: number; address: string; deviceName: string } => ({
  die,
  address: `0000:0${String(die + 5)}:00.0`,
  deviceName: "Tesla K80 (GK210)",
});
const soft = { die: 0, address: "soft:0", deviceName: "Holdfast software GPU" };

test("discover: on K80s the words of the first version, elsewhere the device's name", () => {
  assert.deepEqual(discoveryLines({ dies: [gk210(0), gk210(1)], occupant: 1 }), [
    "discover: 2 GK210 dies; slot occupant idx=1 (0000:06:00.0)",
    " gk210[0] = 0000:05:00.0",
    " gk210[1] = 0000:06:00.0",
  ]);
  assert.deepEqual(discoveryLines({ dies: [soft], occupant: null }), [
    "discover: 1 dies; slot occupant idx=-1 (none)",
    " die[0] = soft:0 (Holdfast software GPU)",
  ]);
  assert.deepEqual(discoveryLines({ dies: [], occupant: null }), [
    "discover: 0 dies; slot occupant idx=-1 (none)",
  ]);
});

test("online, probe, swap, work and count", () => {
  assert.equal(
    onlineLine({
      die: 1,
      wasOnline: false,
      ordinal: 0,
      address: "soft:1",
      deviceName: "Soft",
      inputAddress: 0x7f00_0000_1000n,
      outputAddress: 0x2000n,
      elapsedMs: 12.34,
    }),
    "online 1: OK (ordinal=0 in=0x7f0000001000 out=0x2000 " +
      'bdf=soft:1 device="Soft" elapsed_ms=12.3 was_online=0)',
  );
  assert.equal(
    probeLine({ die: 1, address: "0000:06:00.0", wasBoundNow: true, deviceCount: 2 }),
    "probe 1: OK (bdf=0000:06:00.0 bound_now=1) cuDeviceGetCount = 2 " +
      "(N=per-die ordinals, 1=always-ordinal-0)",
  );
  assert.equal(
    swapLine({ die: 0, moved: true, elapsedMs: 1.5, moveMs: 1.25, boardMs: 0.75, noticeMs: 0.25 }),
    "swap 0: OK (moved=1 elapsed_ms=1.500 move_ms=1.250 board_ms=0.750 notice_ms=0.250)",
  );
  assert.equal(
    workLine({ die: 0, seed: 42, iters: 1000, gridBlocks: 4096 }),
    "work 0: launched (seed=0x0000002a iters=1000 grid=4096) — not synced",
  );
  assert.equal(
    countLine(2),
    "count: cuDeviceGetCount = 2 (N=per-die ordinals, 1=always-ordinal-0)",
  );
});

const passed: ReadReport = {
  die: 0,
  pass: true,
  bad: 0,
  checked: 1048576,
  iters: 1000,
  seed: 42,
  firstSample: 1804,
  lastSample: 1015,
  firstBad: null,
  kernelNs: 41919,
};

test("read says PASS or FAIL with samples", () => {
  assert.equal(
    readLine(passed),
    "read 0: PASS (sample out[0]=1804.0 out[1048575]=1015.0, expect in+1000) " +
      "bad=0 checked=1048576 kernel_ns=41919",
  );
  const failed = readLine({
    ...passed,
    pass: false,
    bad: 3,
    firstSample: NaN,
    lastSample: -Infinity,
    firstBad: { index: 0, expected: 1804, actual: NaN },
  });
  assert.equal(
    failed,
    "read 0: FAIL (sample out[0]=nan out[1048575]=-inf, expect in+1000) " +
      "bad=3 checked=1048576 kernel_ns=41919 first_bad=0 expected=1804.0 actual=nan",
  );
  assert.match(
    readLine({ ...passed, firstSample: 2 ** 100 }),
    /out\[0\]=1267650600228229401496703205376\.0 /,
  );
});

const die: DieStatus = {
  die: 3,
  state: "online",
  isBound: true,
  ready: true,
  ordinal: 1,
  address: "soft:3",
  deviceName: "Soft",
  isBusy: false,
  hasPendingRead: true,
  hostPid: 4711,
  restarts: 2,
  memory: { freeBytes: 100, totalBytes: 200 },
  lastCause: { name: "CUDA_ERROR_ILLEGAL_ADDRESS", code: 700, call: "x", message: "gone" },
  waiting: 5,
  faults: [
    { name: "xid 79", count: 1, text: "gone", atMs: 7 },
    { name: "off_bus", count: 12, text: "all ones", atMs: 5 },
  ],
};
const window: WindowStatus = {
  ...{ group: 0, occupant: 3, isMoving: false, leases: 2, waiting: 6, longestWaitMs: 12.4 },
  ...{ heldMs: 33.3, swaps: 7, failedMoves: 1, swapTimes: null },
};
const owner: OwnerStatus = {
  backend: "soft",
  slot: "sim",
  activeDie: 3,
  driverLoaded: true,
  cudaInitialised: true,
  swaps: 7,
  dies: [die],
  mode: "draining",
  waiting: 6,
  faults: [{ name: "init_failed", count: 2, text: "RmInitAdapter failed!", atMs: 1 }],
  swapTimes: { count: 7, lastMs: 1.5, p50Ms: 1, p95Ms: 2, p99Ms: 3, maxMs: 4.0625 },
  policy: { minimumHoldMs: 5, maximumWaitMs: 1000 },
  windows: [window],
};

test("status: one line for the owner and one for each die", () => {
  assert.deepEqual(statusLines(owner), [
    "status: active_die=3 nvidia_loaded=1 cuda_inited=1 backend=soft slot=sim swaps=7 " +
      "mode=draining waiting=6 hold_ms=33 hold_min_ms=5 wait_max_ms=1000 swap_last_ms=1.500 " +
      "swap_p50_ms=1.000 swap_p95_ms=2.000 swap_p99_ms=3.000 swap_max_ms=4.063 " +
      'faults="init_failed: 2"',
    " die  3: online=1 bound=1 ctx_valid=1 ordinal=1 bdf=soft:3 state=online ready=1 busy=0 " +
      "pending=1 restarts=2 mem_free=100 mem_total=200 " +
      'host_pid=4711 device="Soft" cause="CUDA_ERROR_ILLEGAL_ADDRESS: gone" waiting=5 ' +
      'faults="xid 79: 1, off_bus: 12"',
  ]);
});

test("status: a line for each window where there are several, none where there is none", () => {
  const [first, second, third] = statusLines({
    ...owner,
    windows: [window, { ...window, group: 1, occupant: null, isMoving: true }],
  });
  assert.match(first ?? "", / waiting=6 hold_ms=-1 /);
  assert.equal(
    second,
    " window  0: active_die=3 moving=0 leases=2 waiting=6 longest_wait_ms=12 hold_ms=33 swaps=7 " +
      "failed_moves=1 swap_last_ms=-1 swap_p50_ms=-1 swap_p95_ms=-1 swap_p99_ms=-1 swap_max_ms=-1",
  );
  assert.match(third ?? "", /^ window {2}1: active_die=-1 moving=1 /);
  const direct = statusLines({ ...owner, windows: [], policy: null, swapTimes: null });
  assert.equal(direct.length, 2);
  assert.match(direct[0] ?? "", / hold_ms=-1 hold_min_ms=-1 wait_max_ms=-1 swap_last_ms=-1 /);
});

test("status: what is not known is -1 or ?", () => {
  const unknown: DieStatus = {
    ...die,
    state: "discovered",
    isBound: false,
    ready: false,
    ordinal: null,
    address: null,
    deviceName: null,
    hostPid: null,
    lastCause: null,
    memory: null,
  };
  const [first, second] = statusLines({
    ...owner,
    activeDie: null,
    backend: null,
    dies: [unknown],
  });
  assert.match(first ?? "", /active_die=-1 .*backend=none/);
  assert.match(
    second ?? "",
    /^ die {2}3: online=0 bound=0 ctx_valid=0 ordinal=-1 bdf=\? state=disc/,
  );
  assert.match(
    second ?? "",
    /mem_free=-1 mem_total=-1 host_pid=-1 device="\?" cause="" waiting=5 faults="xid 79: 1, .*"$/,
  );
});

test("status: a faulted die is bound but has no context", () => {
  const [, line] = statusLines({ ...owner, dies: [{ ...die, state: "faulted", ready: false }] });
  assert.match(line ?? "", /online=0 bound=1 ctx_valid=0 .*state=faulted ready=0/);
});
