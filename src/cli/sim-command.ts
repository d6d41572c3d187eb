/** `holdfast sim`: the owner on a simulated machine, in virtual time, checked from outside. */
import process from "node:process";

import { ok, systemClock, type Result } from "../base/mod.ts";
import {
  DEFAULT_SCENARIO,
  simulate,
  simulateMany,
  type BatchReport,
  type SimReport,
  type SimScenario,
  type SimulationOptions,
} from "../sim/mod.ts";
import type { CommandFunction } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { OutputFlags } from "./flags.ts";
import { complain } from "./owner-session.ts";
import { readScenario } from "./scenario-file.ts";
import type { Surroundings } from "./surroundings.ts";
import { tableText } from "./table.ts";

export type SimFlags = OutputFlags & {
  readonly scenario: string | undefined;
  readonly seed: number;
  readonly runs: number | undefined;
};

/** How often a batch says how far it is. */
const PROGRESS_MS = 5000;

const MS_PER_MINUTE = 60_000;

export const simCommand: CommandFunction<SimFlags> = async (surroundings, flags) => {
  const scenario = scenarioOf(flags);
  if (!scenario.ok) {
    complain(surroundings, scenario.error);
    return EXIT.badUsage;
  }
  const options = {
    scenario: scenario.value,
    seed: flags.seed,
    basePayload: surroundings.basePayload,
    watchStray,
  };
  return flags.runs === undefined
    ? replay(surroundings, flags, options)
    : runBatch(surroundings, flags, { ...options, runs: flags.runs });
};

const scenarioOf = ({ scenario }: SimFlags): Result<SimScenario, string> =>
  scenario === undefined ? ok(DEFAULT_SCENARIO) : readScenario(scenario);

/** A promise that nobody waits for breaks the process: here it is what a run found. */
function watchStray(listener: (error: unknown) => void): () => void {
  process.on("unhandledRejection", listener);
  return () => void process.off("unhandledRejection", listener);
}

async function replay(
  { output }: Surroundings,
  { json, verbose }: SimFlags,
  options: SimulationOptions,
): Promise<ExitCode> {
  const write = (line: string): void => {
    output.write(`${line}\n`);
  };
  const report = await simulate({ ...options, ...(json && !verbose ? {} : { onLine: write }) });
  write(json ? JSON.stringify(plainOf(report)) : verdictOf(report));
  return report.violations.length === 0 ? EXIT.ok : EXIT.checkFailed;
}

const plainOf = ({ answers, faults, ...rest }: SimReport): object => ({
  ...rest,
  answers: Object.fromEntries(answers),
  faults: Object.fromEntries(faults),
});

function verdictOf({ seed, violations, swaps, owners, virtualMs }: SimReport): string {
  const seconds = (virtualMs / 1000).toFixed(1);
  const did = `${seconds} s of the machine's time, ${swaps} swaps, ${owners} owners`;
  if (violations.length === 0) return `PASS seed ${seed}: ${did}; every invariant held`;
  return `FAIL seed ${seed}: ${did}; ${violations.length} violations`;
}

async function runBatch(
  surroundings: Surroundings,
  flags: SimFlags,
  options: SimulationOptions & { readonly runs: number },
): Promise<ExitCode> {
  const { output, errors } = surroundings;
  const startMs = systemClock.nowMs();
  let toldMs = startMs;
  const report = await simulateMany({
    ...options,
    onRun: ({ seed, violations: [first] }, { runs, failed }) => {
      if (first !== undefined)
        complain(surroundings, `seed ${seed}: ${ruleOf(first.invariant)}: ${first.text}`);
      const nowMs = systemClock.nowMs();
      if (nowMs - toldMs >= PROGRESS_MS) {
        toldMs = nowMs;
        errors.write(`holdfast: ${runs} of ${options.runs} runs, ${failed} failed\n`);
      }
      return true;
    },
  });
  const perMinute = (report.runs * MS_PER_MINUTE) / (systemClock.nowMs() - startMs);
  const replayed = replayCommand(flags, report);
  output.write(
    flags.json
      ? `${JSON.stringify(batchPlain(report, Math.round(perMinute), replayed))}\n`
      : batchText(report, Math.round(perMinute), replayed),
  );
  return report.failed === 0 ? EXIT.ok : EXIT.checkFailed;
}

const ruleOf = (invariant: number): string =>
  invariant === 0 ? "liveness" : `invariant ${invariant}`;

/** What replays the first failed seed; null where there is none. */
function replayCommand({ scenario }: SimFlags, { firstFailed }: BatchReport): string | null {
  if (firstFailed === null) return null;
  const file = scenario === undefined ? "" : ` --scenario '${scenario.replaceAll("'", "'\\''")}'`;
  return `holdfast sim${file} --seed ${firstFailed}`;
}

const batchPlain = (report: BatchReport, runsPerMinute: number, replay: string | null): object => ({
  ...report,
  faults: Object.fromEntries(report.faults),
  answers: Object.fromEntries(report.answers),
  runsPerMinute,
  replay,
});

function batchText(report: BatchReport, perMinute: number, replayed: string | null): string {
  const { runs, failed, operations, swaps, owners, resets, virtualMs, faults } = report;
  const hours = (virtualMs / 3_600_000).toFixed(1);
  const rows: readonly (readonly [string, number | string])[] = [
    ["runs", runs],
    ["failed", failed],
    ["operations", operations],
    ["swaps", swaps],
    ["owners started", owners],
    ["host resets", resets],
    ...[...faults].sort(([a], [b]) => a.localeCompare(b)).map(faultRow),
    ["hours simulated", hours],
    ["runs a minute", perMinute],
  ];
  const table = tableText(
    ["what", "count"],
    rows.map(([what, count]) => [what, String(count)]),
  );
  if (replayed === null) return `${table}PASS: every invariant held in every run\n`;
  return `${table}FAIL: the first one is replayed by\n  ${replayed}\n`;
}

const faultRow = ([kind, count]: readonly [string, number]): readonly [string, number] => [
  `fault ${kind}`,
  count,
];
