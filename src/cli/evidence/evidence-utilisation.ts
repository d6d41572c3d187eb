/** 02: how busy the device is under the bench's stress, and before it. */
import type { MailboxV2 } from "../../bridge/mod.ts";
import { runStress } from "../bench/bench-stress.ts";
import { stressText } from "../bench/bench-text.ts";
import { mailboxV2In } from "../trial/bridge-session.ts";
import type { Evidence, EvidenceStage } from "./evidence-step.ts";
import { ownerWords } from "./evidence-step.ts";
import { EXIT } from "../exit-code.ts";
import type { OpenedOwner } from "../open-owner.ts";
import { answerMsMax, withBridgeTrial, type TrialStage } from "../trial/bridge-trial.ts";
import {
  sampleGpu,
  sampleProcesses,
  utilisationText,
  type Sampler,
  type Utilisation,
} from "./utilisation-sampler.ts";

/** Idle time that is sampled before the stress, for comparison. */
const IDLE_MS = 1_000;

/** The stress ends after this time, however few of its jobs have run: the software GPU is slow. */
const STRESS_MS_MAX = 20_000;

export async function makeUtilisation(stage: EvidenceStage): Promise<Evidence> {
  const { surroundings, flags, scratch } = stage;
  const command = ["--big-iters", flags.bigIters, ...ownerWords(flags)].join(" ");
  let text = "no device";
  const dies = [0];
  const mailboxes = (folder: string, opened: OpenedOwner): readonly [MailboxV2] => {
    const options = { name: "stress", timeoutMs: flags.timeoutMs, verify: "auto" } as const;
    return [{ ...mailboxV2In(folder, options, opened), dies }];
  };
  const plan = { dies, mailboxes, printJobLine: () => undefined };
  const testFlags = { ...flags, dir: scratch, json: false, verbose: false };
  const code = await withBridgeTrial(surroundings, testFlags, plan, async (bridge) => {
    const idle = await sampled(bridge, () => new Promise((done) => setTimeout(done, IDLE_MS)));
    const busy = await sampled(bridge, () =>
      runStress({
        mailbox: bridge.mailboxes[0],
        jobs: flags.bigIters,
        durationMsMax: STRESS_MS_MAX,
        firstSeq: 1n,
        waitMsMax: answerMsMax(flags),
        progress: (line) => {
          surroundings.errors.write(`${line}\n`);
        },
      }),
    );
    const { result } = busy;
    text = [
      `the stress of 'holdfast bench ${command}', ended after ${STRESS_MS_MAX / 1000} s at most`,
      `\nidle: ${utilisationText(idle.utilisation)}`,
      `\nunder stress: ${utilisationText(busy.utilisation)}`,
      `\n${result.ok ? stressText(result.value) : result.error}`,
    ].join("\n");
    return result.ok ? EXIT.ok : EXIT.checkFailed;
  });
  return { command: `holdfast evidence ${command}`, text, pass: code === EXIT.ok };
}

/** Samples the device of the stage's first die while `action` runs. */
async function sampled<T>(
  { opened, online }: TrialStage<readonly [MailboxV2]>,
  action: () => Promise<T>,
): Promise<{ readonly result: T; readonly utilisation: Utilisation }> {
  const gpu = await sampleGpu(online[0]?.address ?? "");
  const { dies } = await opened.owner.status();
  const hosts = dies.flatMap(({ hostPid }) => (hostPid === null ? [] : [hostPid]));
  const sampler: Sampler = gpu ?? sampleProcesses([process.pid, ...hosts]);
  const result = await action();
  return { result, utilisation: await sampler.stop() };
}
