/** `holdfast mutation-test`: a check that cannot fail proves nothing, so here it must fail. */
import { systemClock } from "../../base/mod.ts";
import type { MailboxV2 } from "../../bridge/mod.ts";
import { CUBB2_JOB, OPERATION, STATUS, statusName, type Cbd2Done } from "../../records/mod.ts";
import { mailboxV2In } from "../trial/bridge-session.ts";
import { judge, NO_DONE, verdict, type Finding } from "../trial/check-report.ts";
import type { CommandFunction } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { floatsOf, vaddInput, vaddRecord } from "../trial/job-record.ts";
import type { OpenedOwner } from "../open-owner.ts";
import { createProducerV2, putWhole, readIfThere } from "../trial/producer.ts";
import type { SelfTestFlags } from "./self-test-command.ts";
import { answerMsMax, withBridgeTrial } from "../trial/bridge-trial.ts";

const ELEMENTS = 2 ** 20;

/** Ops 2 and 3 add the same operands; op 3 is wrong by one in every element. */
const INTRODUCTION =
  "op 2 is a + b, op 3 the same and wrong on purpose by 1 in every element; both are compared " +
  "with a + b.";

export const mutationTestCommand: CommandFunction<SelfTestFlags> = (surroundings, flags) => {
  const say = (line: string): void => {
    if (!flags.json) surroundings.output.write(`${line}\n`);
  };
  const dies = [flags.die];
  const mailboxes = (folder: string, opened: OpenedOwner): readonly [MailboxV2] => {
    const options = { name: "v2", timeoutMs: flags.timeoutMs, verify: "full" } as const;
    return [{ ...mailboxV2In(folder, options, opened), dies }];
  };
  return withBridgeTrial(
    surroundings,
    flags,
    { dies, mailboxes, printJobLine: say },
    async (stage) => {
      say(INTRODUCTION);
      const [mailbox] = stage.mailboxes;
      putWhole(mailbox.in, vaddInput(ELEMENTS));
      const right = await runOperation(mailbox, OPERATION.vadd, answerMsMax(flags));
      const mutated = await runOperation(mailbox, OPERATION.vadd_mutated, answerMsMax(flags));
      const finding = judgeMutation(right, mutated);
      const { pass, seen } = finding;
      if (flags.json) {
        const { jobLines } = stage.session;
        surroundings.output.write(`${JSON.stringify({ pass, seen, jobLines })}\n`);
      }
      say(`${seen}\n${verdict(pass)}`);
      return pass ? EXIT.ok : EXIT.checkFailed;
    },
  );
};

/** How one of the two went; `first` is c[0]. */
export type Outcome = { readonly done: Cbd2Done; readonly first: number };

async function runOperation(
  mailbox: MailboxV2,
  op: number,
  waitMsMax: number,
): Promise<Outcome | null> {
  const producer = createProducerV2({ ...mailbox, clock: systemClock, waitMsMax });
  const job = vaddRecord({ seq: BigInt(op), op }, ELEMENTS);
  producer.post(CUBB2_JOB.encode(job));
  const done = await producer.waitForDone(job.seq);
  const output = floatsOf(readIfThere(mailbox.out) ?? new Uint8Array(0));
  return done === null ? null : { done, first: output[0] ?? Number.NaN };
}

/** Passes where op 3 was seen to be wrong in each element, and op 2 in none. */
export function judgeMutation(right: Outcome | null, mutated: Outcome | null): Finding {
  if (right === null || mutated === null) return NO_DONE;
  const [two, three] = [right.done, mutated.done];
  const difference = three.checksum - two.checksum;
  const seen =
    `checksum ${two.checksum.toFixed(6)} and ${three.checksum.toFixed(6)}, apart by ` +
    `${difference.toFixed(6)}; bad ${two.bad} and ${three.bad} of ${ELEMENTS}; ` +
    `c[0] ${right.first.toFixed(1)} and ${mutated.first.toFixed(1)}`;
  return judge(seen, {
    [`op 2 ends as ok, not ${statusName(two.status)}`]: two.status === STATUS.ok,
    "op 2 is right in every element": two.bad === 0n && two.checked === BigInt(ELEMENTS),
    [`op 3 ends as verify_failed, not ${statusName(three.status)}`]:
      three.status === STATUS.verify_failed,
    "op 3 is seen to be wrong in every element": three.bad === BigInt(ELEMENTS),
    "its checksum is larger by one for each": difference === ELEMENTS,
    "its c[0] is 1": mutated.first === 1,
  });
}
