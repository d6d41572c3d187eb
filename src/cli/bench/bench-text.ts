/** What the bench measured, as tables for people. */
import type { BenchReport } from "./bench-report.ts";
import type { LoadReport } from "./bench-load.ts";
import type { SwapRound } from "./bench-swap.ts";
import type { StressReport } from "./bench-stress.ts";
import { tableText } from "../table.ts";
import { bytesText, durationText, rateText } from "../units.ts";

/** Bytes of one vadd job: two operands in, one result out. */
const payloadBytes = (elements: number): number => 3 * elements * Float32Array.BYTES_PER_ELEMENT;

export function benchText(report: BenchReport): string {
  const { device, dies, cpu, cores, producerPauseMs: pauseMs } = report;
  const looks = pauseMs === 0 ? "without a pause" : `every ${pauseMs * 1000} us or so`;
  const parts = [
    `device  ${device}${dies > 1 ? ` and ${dies - 1} more` : ""}\ncpu     ${cpu}, ${cores} cores\n`,
    `vadd, the kernel alone: the device's own time, between two events\n${kernelTable(report)}`,
    "vadd through the bridge: from its job record written to its done record read, files,\n" +
      `copies and checks included; a producer looks ${looks}\n${bridgeTable(report.rounds)}`,
  ];
  parts.push(swapText(report.swap));
  if (report.stress !== null) parts.push(`${stressText(report.stress)}\n`);
  return parts.join("\n");
}

/** Only rounds with one mailbox: two of them share a device. */
function kernelTable({ rounds, cpuBaseline }: BenchReport): string {
  const rows = rounds
    .filter(({ mailboxes }) => mailboxes === 1)
    .map(({ elements, kernelNs }) => {
      const cpu = cpuBaseline.find((each) => each.elements === elements)?.timeNs;
      return [
        ...[String(elements), String(kernelNs.count)],
        ...[durationText(kernelNs.min), durationText(kernelNs.p50)],
        rateText(payloadBytes(elements), kernelNs.p50),
        cpu === undefined ? "-" : durationText(cpu.p50),
        cpu === undefined ? "-" : `${(cpu.p50 / kernelNs.p50).toFixed(1)} x`,
      ];
    });
  const headings = ["n", "runs", "min", "median", "memory", "CPU baseline", "CPU / device"];
  return `${tableText(headings, rows)}${BASELINE_NOTE}`;
}

const BASELINE_NOTE =
  "CPU baseline: the median of our reference loop, JavaScript on one core of this processor\n";

const bridgeTable = (rounds: readonly LoadReport[]): string =>
  tableText(
    ["n", "mailboxes", "jobs", "p50", "p95", "p99", "jobs/s", "payload"],
    rounds.map(({ elements, mailboxes, latencyNs, jobsPerSecond }) => [
      ...[String(elements), String(mailboxes), String(latencyNs.count)],
      ...[latencyNs.p50, latencyNs.p95, latencyNs.p99].map(durationText),
      jobsPerSecond.toFixed(jobsPerSecond < 100 ? 1 : 0),
      rateText(payloadBytes(elements) * jobsPerSecond, 1e9),
    ]),
  );

function swapText(swap: SwapRound | null): string {
  if (swap === null) return "swap: every die is mapped at all times, so that nothing moves\n";
  const parts = [
    ["whole move", swap.moveNs],
    ["board", swap.boardNs],
    ["die host told", swap.noticeNs],
  ] as const;
  const rows = parts.map(([name, times]) => [
    ...[name, String(times.count)],
    ...[times.p50, times.p95, times.p99, times.max].map(durationText),
  ]);
  const table = tableText(["part", "swaps", "p50", "p95", "p99", "max"], rows);
  return (
    `swap: the window moved over ${swap.dies} dies in turn, their contexts resident; the move\n` +
    `alone, without the wait for its turn; what is no part is the journal\n${table}`
  );
}

/** Three lines: how many, how fast, how busy. */
export function stressText({ jobs, elements, elapsedMs, kernelMs }: StressReport): string {
  const rate = (jobs / elapsedMs) * 1000;
  const payload = payloadBytes(elements);
  return [
    `stress: ${jobs} vadd jobs of n=${elements} (${bytesText(payload)} each), one after the other`,
    `in ${durationText(elapsedMs * 1e6)}: ${rate.toFixed(1)} jobs/s, ` +
      `${rateText(payload * jobs, elapsedMs * 1e6)} of payload`,
    `kernels ran for ${durationText(kernelMs * 1e6)} of that, ` +
      `${((100 * kernelMs) / elapsedMs).toFixed(1)} %`,
  ].join("\n");
}
