import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchReport } from "./bench-report.ts";
import { benchText, stressText } from "./bench-text.ts";

const quantiles = (p50: number): BenchReport["cpuBaseline"][number]["timeNs"] => ({
  count: 200,
  min: p50 / 2,
  p50,
  p95: 2 * p50,
  p99: 4 * p50,
  max: 8 * p50,
});

const round = (elements: number, mailboxes: number): BenchReport["rounds"][number] => ({
  elements,
  mailboxes,
  latencyNs: quantiles(500_000),
  kernelNs: quantiles(40_000),
  jobsPerSecond: 2000,
});

const REPORT: BenchReport = {
  device: "A device",
  dies: 2,
  cpu: "A processor",
  cores: 2,
  producerPauseMs: 0.02,
  rounds: [round(1024, 1), round(2 ** 20, 1), round(2 ** 20, 2)],
  cpuBaseline: [{ elements: 2 ** 20, timeNs: quantiles(2_000_000) }],
  swap: null,
  stress: null,
};

test("the bench's tables say what was measured", () => {
  assert.equal(
    benchText(REPORT),
    `device  A device and 1 more
cpu     A processor, 2 cores

vadd, the kernel alone: the device's own time, between two events
n        runs  min      median   memory    CPU baseline  CPU / device
1024     200   20.0 us  40.0 us  307 MB/s  -             -
1048576  200   20.0 us  40.0 us  315 GB/s  2.00 ms       50.0 x
CPU baseline: the median of our reference loop, JavaScript on one core of this processor

vadd through the bridge: from its job record written to its done record read, files,
copies and checks included; a producer looks every 20 us or so
n        mailboxes  jobs  p50     p95      p99      jobs/s  payload
1024     1          200   500 us  1.00 ms  2.00 ms  2000    24.6 MB/s
1048576  1          200   500 us  1.00 ms  2.00 ms  2000    25.2 GB/s
1048576  2          200   500 us  1.00 ms  2.00 ms  2000    25.2 GB/s

swap: every die is mapped at all times, so that nothing moves
`,
  );
});

test("the moves of a window are told with their parts", () => {
  const parts = { moveNs: quantiles(2e6), boardNs: quantiles(1e6), noticeNs: quantiles(100_000) };
  const text = benchText({ ...REPORT, swap: { dies: 16, ...parts } });
  assert.match(text, /^swap: the window moved over 16 dies in turn, their contexts resident;/m);
  assert.match(text, /^whole move +200 +2\.00 ms +4\.00 ms +8\.00 ms +16\.0 ms$/m);
  assert.match(text, /^die host told +200 +100 us +200 us +400 us +800 us$/m);
});

test("the stress is told with how busy the kernels kept the device", () => {
  const stress = { jobs: 200, elements: 2 ** 24, elapsedMs: 10_000, kernelMs: 130 };
  const text = stressText(stress);
  assert.match(
    text,
    /^stress: 200 vadd jobs of n=16777216 \(192 MiB each\), one after the other$/m,
  );
  assert.match(text, /^in 10\.0 s: 20\.0 jobs\/s, 4\.03 GB\/s of payload$/m);
  assert.match(text, /^kernels ran for 130 ms of that, 1\.3 %$/m);
  assert.ok(benchText({ ...REPORT, stress }).endsWith(`\n\n${text}\n`));
});
