/** The demo's step through the bridge: what a guest would post, and what comes back. */
import { join } from "node:path";
import { err, ok, systemClock } from "../base/mod.ts";
import { referenceVadd, selfTestA, selfTestB } from "../gpu/mod.ts";
import { WORK_ELEMENTS } from "../owner/mod.ts";
import { CUBB2_JOB, STATUS } from "../records/mod.ts";
import { parseJobLine } from "./bridge/job-line.ts";
import type { DemoStep } from "./demo-step.ts";
import { isEqualF32, VADD_CHECKSUM } from "./self-test/self-test-v2.ts";
import { mailboxV2In, withBridge } from "./trial/bridge-session.ts";
import { answerMsMax } from "./trial/bridge-trial.ts";
import { vaddInput, vaddRecord } from "./trial/job-record.ts";
import { createProducerV2, putWhole, readIfThere } from "./trial/producer.ts";

/** A job record in one file, its operands in another; the answer is a record in a third. */
export const bridgeVadd: DemoStep = async ({ owner, basePayload, folder, timeoutMs }) => {
  const step = "bridge vadd";
  const opened = { owner, basePayload };
  const options = { name: "demo", timeoutMs, verify: "auto" } as const;
  const mailbox = { ...mailboxV2In(folder, options, opened), dies: [0] };
  const waitMsMax = answerMsMax({ timeoutMs });
  const producer = createProducerV2({ ...mailbox, clock: systemClock, waitMsMax });
  const quiet = { printJobLine: () => undefined, log: () => undefined };
  const stateDirectory = join(folder, "state");
  const served = await withBridge(
    { opened, mailboxes: [mailbox], stateDirectory, ...quiet },
    async ({ jobLines }) => {
      putWhole(mailbox.in, vaddInput(WORK_ELEMENTS));
      producer.post(CUBB2_JOB.encode(vaddRecord({ seq: 1n }, WORK_ELEMENTS)));
      const done = await producer.waitForDone(1n);
      // The line comes once the record is there.
      if (done !== null) await producer.waitUntil(() => jobLines.length > 0);
      return { done, line: jobLines[0] ?? "" };
    },
  );
  if (!served.ok) return err({ step, message: served.error, isAbsent: false });
  const { done, line } = served.value;
  if (done === null) return err({ step, message: "no done record came", isAbsent: false });
  const expected = referenceVadd(selfTestA(WORK_ELEMENTS), selfTestB(WORK_ELEMENTS));
  const isSum = isEqualF32(expected, readIfThere(mailbox.out) ?? new Uint8Array(0));
  const isProved = done.status === STATUS.ok && done.checksum === VADD_CHECKSUM;
  return ok({ step, seen: essentials(line), pass: isSum && isProved });
};

/** The job line without what the demo tells elsewhere: it has to fit on a screen. */
function essentials(line: string): string {
  const parsed = parseJobLine(line);
  const shown = ["seq", "op", "n", "status", "checksum", "bad"];
  const pairs = shown.map((key) => `${key}=${parsed?.values.get(key) ?? "?"}`);
  return [parsed?.record ?? "?", ...pairs].join(" ");
}
