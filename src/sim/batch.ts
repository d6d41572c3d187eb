/** Many runs of one scenario, one seed after another, and what they came to together. */
import { simulate, type SimReport, type SimulationOptions } from "./simulation.ts";

export type BatchOptions = Omit<SimulationOptions, "onLine"> & {
  /** Seeds from `seed` on. */
  readonly runs: number;
  /** Called after each run; false ends the batch. */
  readonly onRun?: (report: SimReport, totals: BatchReport) => boolean;
};

export type BatchReport = {
  runs: number;
  failed: number;
  /** The first seed with a violation; null where there is none. */
  firstFailed: number | null;
  operations: number;
  swaps: number;
  owners: number;
  resets: number;
  virtualMs: number;
  /** By kind. */
  readonly faults: Map<string, number>;
  /** By operation and outcome. */
  readonly answers: Map<string, number>;
};

/** Runs them all, whether or not some fail. */
export async function simulateMany(options: BatchOptions): Promise<BatchReport> {
  const { runs, seed: first, onRun, ...rest } = options;
  const totals: BatchReport = {
    ...{ runs: 0, failed: 0, firstFailed: null, operations: 0, swaps: 0, owners: 0, resets: 0 },
    ...{ virtualMs: 0, faults: new Map(), answers: new Map() },
  };
  for (let seed = first; seed < first + runs; seed++) {
    const report = await simulate({ ...rest, seed });
    add(totals, report);
    if (onRun?.(report, totals) === false) break;
  }
  return totals;
}

function add(totals: BatchReport, report: SimReport): void {
  totals.runs += 1;
  totals.swaps += report.swaps;
  totals.owners += report.owners;
  totals.resets += report.resets;
  totals.virtualMs += report.virtualMs;
  for (const [kind, count] of report.faults)
    totals.faults.set(kind, (totals.faults.get(kind) ?? 0) + count);
  for (const [answer, count] of report.answers) {
    totals.operations += count;
    totals.answers.set(answer, (totals.answers.get(answer) ?? 0) + count);
  }
  if (report.violations.length === 0) return;
  totals.failed += 1;
  totals.firstFailed ??= report.seed;
}
