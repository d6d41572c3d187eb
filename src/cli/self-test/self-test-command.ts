/** `holdfast self-test`: the bridge of both protocols, end to end on this machine. */
import { join } from "node:path";
import { systemClock } from "../../base/mod.ts";
import type { MailboxV1, MailboxV2 } from "../../bridge/mod.ts";
import { mailboxV1In, mailboxV2In } from "../trial/bridge-session.ts";
import { NO_DONE, verdict, type CheckReport, type Finding } from "../trial/check-report.ts";
import type { CommandFunction } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { createGuestMemory, LOW_BYTES } from "./guest-memory.ts";
import { createProducerV1, createProducerV2 } from "../trial/producer.ts";
import { CHECKS_V1, type StageV1 } from "./self-test-v1.ts";
import { CHECKS_V2, type StageV2 } from "./self-test-v2.ts";
import type { OpenedOwner } from "../open-owner.ts";
import { complain } from "../owner-session.ts";
import { tableText } from "../table.ts";
import {
  answerMsMax,
  withBridgeTrial,
  type TrialFlags,
  type TrialStage,
} from "../trial/bridge-trial.ts";
import { durationText } from "../units.ts";

export type SelfTestFlags = TrialFlags & { readonly die: number };

export const selfTestCommand: CommandFunction<SelfTestFlags> = (surroundings, flags) => {
  const say = (line: string): void => {
    if (!flags.json) surroundings.output.write(`${line}\n`);
  };
  const dies = [flags.die];
  const mailboxes = (folder: string, opened: OpenedOwner): readonly [MailboxV1, MailboxV2] => {
    const common = { timeoutMs: flags.timeoutMs, verify: "auto" } as const;
    const memory = { ram: join(folder, "ram"), ramLowBytes: LOW_BYTES };
    return [
      { ...mailboxV1In(folder, { ...common, name: "v1" }, memory), dies },
      { ...mailboxV2In(folder, { ...common, name: "v2" }, opened), dies },
    ];
  };
  return withBridgeTrial(
    surroundings,
    flags,
    { dies, mailboxes, printJobLine: say },
    async (stage) => {
      const device = stage.online[0]?.deviceName ?? "";
      say(`self-test on die ${flags.die}, ${device}`);
      const reports = await runChecks(stage, answerMsMax(flags), say);
      const isPass = reports.every(({ pass }) => pass);
      if (flags.json) {
        const { jobLines } = stage.session;
        const json = { pass: isPass, die: flags.die, device, checks: reports, jobLines };
        surroundings.output.write(`${JSON.stringify(json)}\n`);
      }
      say(`\n${tableOf(reports)}\n${verdict(isPass)}`);
      if (!isPass && !flags.verbose) complain(surroundings, "--verbose shows what the bridge says");
      return isPass ? EXIT.ok : EXIT.checkFailed;
    },
  );
};

type TimedReport = CheckReport & { readonly elapsedMs: number };

/** Runs them one after the other, and says each result as it is there. */
async function runChecks(
  { mailboxes: [v1, v2], session, opened }: TrialStage<readonly [MailboxV1, MailboxV2]>,
  waitMsMax: number,
  say: (line: string) => void,
): Promise<readonly TimedReport[]> {
  const files = { clock: systemClock, waitMsMax };
  const memory = createGuestMemory(v1.ram);
  const stageV1: StageV1 = {
    memory,
    producer: createProducerV1({ ...v1, ...files }),
    nextSeq: counter(),
  };
  const stageV2: StageV2 = {
    mailbox: v2,
    producer: createProducerV2({ ...v2, ...files }),
    session,
    basePayload: opened.basePayload,
    nextSeq: counter(),
  };
  try {
    return [
      ...(await runEach(CHECKS_V1, stageV1, say)),
      ...(await runEach(CHECKS_V2, stageV2, say)),
    ];
  } finally {
    memory.close();
  }
}

/** Runs the checks of one mailbox; one that gives no answer is not asked again. */
async function runEach<Stage>(
  checks: readonly {
    readonly name: string;
    readonly run: (stage: Stage) => Promise<Finding>;
  }[],
  stage: Stage,
  say: (line: string) => void,
): Promise<readonly TimedReport[]> {
  const reports: TimedReport[] = [];
  let isDead = false;
  for (const { name, run } of checks) {
    const startMs = systemClock.nowMs();
    const finding: Finding = isDead ? NOT_TRIED : await run(stage);
    isDead ||= finding === NO_DONE;
    reports.push({ name, ...finding, elapsedMs: systemClock.nowMs() - startMs });
    say(`${verdict(finding.pass)} ${name}: ${finding.seen}`);
  }
  return reports;
}

const NOT_TRIED: Finding = { pass: false, seen: "not tried: the mailbox gives no answers" };

function counter(): () => bigint {
  let last = 0n;
  return () => (last += 1n);
}

const tableOf = (reports: readonly TimedReport[]): string =>
  tableText(
    ["check", "took", "result"],
    reports.map(({ name, elapsedMs, pass }) => [
      ...[name, durationText(elapsedMs * 1e6), verdict(pass)],
    ]),
  );
