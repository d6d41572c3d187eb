/** `holdfast bench`: device times, latency and throughput of the bridge on this machine. */
import { availableParallelism } from "node:os";
import { err, ok, systemClock, type Result } from "../../base/mod.ts";
import type { MailboxV2 } from "../../bridge/mod.ts";
import { producerPauseMs, runLoad, type LoadReport } from "./bench-load.ts";
import type { BenchReport } from "./bench-report.ts";
import { benchText } from "./bench-text.ts";
import { runSwaps } from "./bench-swap.ts";
import { runStress } from "./bench-stress.ts";
import type { Owner } from "../../owner/mod.ts";
import { mailboxV2In } from "../trial/bridge-session.ts";
import type { CommandFunction } from "../context.ts";
import { cpuName, measureCpuVadd } from "./cpu-baseline.ts";
import { EXIT } from "../exit-code.ts";
import type { OpenedOwner } from "../open-owner.ts";
import { complain } from "../owner-session.ts";
import { answerMsMax, withBridgeTrial, type TrialFlags } from "../trial/bridge-trial.ts";

export type BenchFlags = TrialFlags & {
  readonly bigIters: number | undefined;
  readonly roundMs: number;
};

/** One size of job, on so many mailboxes at once. */
type Round = { readonly elements: number; readonly mailboxes: 1 | 2 };

const [SMALL, MIDDLE, LARGE] = [2 ** 10, 2 ** 20, 2 ** 24];

/** Each takes as long as it is given, whatever one job costs. */
const ROUNDS: readonly Round[] = [
  { elements: SMALL, mailboxes: 1 },
  { elements: MIDDLE, mailboxes: 1 },
  { elements: LARGE, mailboxes: 1 },
  { elements: SMALL, mailboxes: 2 },
  { elements: MIDDLE, mailboxes: 2 },
];

/** Per round and mailbox: enough for a 99th percentile. */
const JOBS_MAX = 5_000;

/** Longest that one size is measured on the processor. */
const CPU_MS_MAX = 1_000;

export const benchCommand: CommandFunction<BenchFlags> = (surroundings, flags) => {
  const mailboxes = (folder: string, opened: OpenedOwner): readonly [MailboxV2, MailboxV2] => {
    const common = { timeoutMs: flags.timeoutMs, verify: "auto" } as const;
    return [
      mailboxV2In(folder, { ...common, name: "first" }, opened),
      mailboxV2In(folder, { ...common, name: "second" }, opened),
    ];
  };
  const progress = (text: string): void => {
    surroundings.errors.write(`${text}\n`);
  };
  // The job lines are thousands, and all alike.
  const printJobLine = (): void => undefined;
  return withBridgeTrial(
    surroundings,
    flags,
    { dies: null, mailboxes, printJobLine },
    async (stage) => {
      const { roundMs } = flags;
      const bench = {
        mailboxes: stage.mailboxes,
        owner: stage.opened.owner,
        dies: stage.online.map(({ die }) => die),
        waitMsMax: answerMsMax(flags),
        roundMs,
        progress,
      };
      const measured = await measure(bench, flags.bigIters ?? null);
      if (!measured.ok) {
        complain(surroundings, measured.error);
        return EXIT.checkFailed;
      }
      const report: BenchReport = {
        device: stage.online[0]?.deviceName ?? "",
        dies: stage.online.length,
        cpu: cpuName(),
        cores: availableParallelism(),
        producerPauseMs: producerPauseMs(),
        ...measured.value,
      };
      surroundings.output.write(flags.json ? `${JSON.stringify(report)}\n` : benchText(report));
      return EXIT.ok;
    },
  );
};

type Bench = {
  readonly mailboxes: readonly [MailboxV2, MailboxV2];
  readonly owner: Owner;
  readonly dies: readonly number[];
  readonly waitMsMax: number;
  readonly roundMs: number;
  readonly progress: (text: string) => void;
};

type Measured = Pick<BenchReport, "rounds" | "cpuBaseline" | "swap" | "stress">;

/** The error is what went wrong with a job. */
async function measure(bench: Bench, bigIters: number | null): Promise<Result<Measured, string>> {
  const { mailboxes, waitMsMax, roundMs, progress } = bench;
  const seqs = new Map<string, bigint>();
  const rounds: LoadReport[] = [];
  for (const { elements, mailboxes: count } of ROUNDS) {
    progress(`measuring n=${elements} on ${count === 1 ? "one mailbox" : "two mailboxes"}`);
    const load = { elements, durationMs: roundMs, jobsMax: JOBS_MAX, waitMsMax, seqs };
    const report = await runLoad({ ...load, mailboxes: mailboxes.slice(0, count) });
    if (!report.ok) return err(`n=${elements}: ${report.error}`);
    rounds.push(report.value);
  }
  progress("measuring the processor");
  const cpuBaseline = [MIDDLE, LARGE].map((elements) => ({
    elements,
    timeNs: measureCpuVadd(elements, Math.min(roundMs, CPU_MS_MAX)),
  }));
  progress("moving the window");
  const { owner, dies } = bench;
  const swap = await runSwaps({ owner, dies, clock: systemClock, durationMs: roundMs });
  if (!swap.ok) return swap;
  const measured = { rounds, cpuBaseline, swap: swap.value };
  if (bigIters === null) return ok({ ...measured, stress: null });
  const [mailbox] = mailboxes;
  const firstSeq = seqs.get(mailbox.name) ?? 1n;
  const orders = { mailbox, jobs: bigIters, durationMsMax: null, firstSeq, waitMsMax, progress };
  const stress = await runStress(orders);
  return stress.ok ? ok({ ...measured, stress: stress.value }) : stress;
}
