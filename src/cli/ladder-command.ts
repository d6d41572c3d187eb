/**
 * `holdfast ladder`: climbs every rung of every die, and shows which, how long, and what failed.
 */
import {
  adviceFor,
  type BringUpStep,
  type LadderReport,
  type LadderRow,
  type RungOutcome,
} from "../owner/mod.ts";
import type { CommandFunction } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { OwnerFlags } from "./flags.ts";
import { complain, withOwner } from "./owner-session.ts";
import { tableText } from "./table.ts";

export type LadderFlags = OwnerFlags & {
  readonly until: BringUpStep | undefined;
  readonly pauseMs: number;
  readonly retry: boolean;
  readonly json: boolean;
};

export const ladderCommand: CommandFunction<LadderFlags> = (surroundings, flags) =>
  // Each rung is told before it runs: what is seen last, even over a remote line, is what wedged.
  withOwner(surroundings, { ...flags, verbose: true }, async ({ owner }) => {
    if (flags.retry) {
      for (const { die, step } of owner.retry(null)) {
        complain(surroundings, `die ${die}: ${step} was held back, and is tried again`);
      }
    }
    const { slot } = await owner.status();
    const report = await owner.ladder({ until: flags.until ?? null, pauseMs: flags.pauseMs });
    const advice = report.rows.filter(isBad).map(adviceOf);
    surroundings.output.write(
      flags.json ? `${JSON.stringify({ slot, ...report, advice })}\n` : textOf(report, advice),
    );
    return exitOf(report);
  });

type Advice = {
  readonly die: number;
  readonly step: BringUpStep;
  readonly outcome: RungOutcome;
  readonly try: string;
};

const isBad = ({ outcome }: LadderRow): boolean => outcome !== "done" && outcome !== "skipped";

const adviceOf = ({ die, step, outcome }: LadderRow): Advice => ({
  die,
  step,
  outcome,
  try: adviceFor(step, outcome === "hung" || outcome === "lost" ? outcome : "failed"),
});

function textOf(report: LadderReport, advice: readonly Advice[]): string {
  const rows = report.rows.map(({ die, address, step, outcome, elapsedMs, detail }) => [
    ...[String(die), address ?? "-", step, outcome],
    ...[outcome === "skipped" ? "-" : elapsedMs.toFixed(1), detail],
  ]);
  const table = tableText(["die", "address", "rung", "outcome", "ms", "detail"], rows);
  const tries = advice.map(
    ({ die, step, try: text }) => `to try for die ${die}, ${step}: ${text}\n`,
  );
  const online = report.online.length === 0 ? "none" : report.online.join(", ");
  return `${table}${tries.join("")}ladder: ${report.outcome}; dies that answer: ${online}\n`;
}

/** What failed first decides: the rest may follow from it. */
function exitOf({ outcome, rows }: LadderReport): ExitCode {
  if (outcome !== "failed") return EXIT.ok;
  const step = rows.find(isBad)?.step;
  if (step === "discover" || step === "initialise") return EXIT.noDevice;
  return step === "read" ? EXIT.checkFailed : EXIT.deviceFault;
}
