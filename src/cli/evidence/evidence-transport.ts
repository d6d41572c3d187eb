/** 06: a daemon that is a process of its own, and a producer outside of it. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { systemClock } from "../../base/mod.ts";
import { referenceVadd, selfTestA, selfTestB } from "../../gpu/mod.ts";
import {
  CBD2_DONE,
  CUBB2_JOB,
  OPERATION,
  STATUS,
  statusName,
  type Cbd2Done,
  type Cubb2Job,
} from "../../records/mod.ts";
import { judge, verdict } from "../trial/check-report.ts";
import { exitOf, ownCommand } from "./child-program.ts";
import { EXIT } from "../exit-code.ts";
import { ownerWords, type Evidence, type EvidenceStage } from "./evidence-step.ts";
import { bytesOf, jobRecord, vaddInput, vaddRecord } from "../trial/job-record.ts";
import { createProducerV2, putWhole, readIfThere } from "../trial/producer.ts";
import { isEqualF32, mailWords, VADD_CHECKSUM } from "../self-test/self-test-v2.ts";
import { answerMsMax } from "../trial/bridge-trial.ts";

/** Longest wait for the daemon to be ready. */
const READY_MS_MAX = 60_000;

const VADD_ELEMENTS = 2 ** 20;

const GUEST_ID = 7n;

/** Any number will do to begin with; this one is no default of anything. */
const FIRST_SEQ = 1000n;

type Files = Readonly<Record<"job" | "in" | "out" | "done", string>>;

/** A daemon as a child process, its lines and ours in the order in which they came. */
type Transport = {
  readonly files: Files;
  readonly daemon: ChildProcessWithoutNullStreams;
  readonly lines: string[];
};

export async function makeTransport(stage: EvidenceStage): Promise<Evidence> {
  const { surroundings, flags, scratch } = stage;
  const files = filesIn(join(scratch, "transport"));
  const words = [
    ...["bridge", "--job", files.job, "--in", files.in, "--out", files.out, "--done", files.done],
    ...["--state-dir", join(scratch, "transport-state"), ...ownerWords(flags)],
  ];
  const [program, ...programWords] = ownCommand(surroundings, words);
  const daemon = spawn(program, programWords, { stdio: "pipe" });
  const forget = surroundings.onExit(() => daemon.kill());
  const exit = exitOf(daemon);
  const lines: string[] = [];
  for (const [name, stream] of [
    ["stdout", daemon.stdout],
    ["stderr", daemon.stderr],
  ] as const) {
    createInterface({ input: stream }).on("line", (line) => lines.push(`daemon ${name}: ${line}`));
  }
  const transport = { files, daemon, lines };
  const isRight = (await isReady(transport)) && (await exchange(transport, answerMsMax(flags)));
  daemon.kill("SIGTERM");
  const code = await exit;
  forget();
  lines.push(`producer: sent SIGTERM; the daemon exited with ${String(code)}`);
  const pass = isRight && code === EXIT.ok;
  const text = `${lines.join("\n")}\n\n${verdict(pass)}`;
  return { command: ["holdfast", ...words].join(" "), text, pass };
}

function filesIn(folder: string): Files {
  mkdirSync(folder);
  const at = (name: string): string => join(folder, name);
  return { job: at("job"), in: at("in"), out: at("out"), done: at("done") };
}

/** False where the daemon ended, or was not ready in time. */
async function isReady({ files, daemon, lines }: Transport): Promise<boolean> {
  const waiter = createProducerV2({ ...files, clock: systemClock, waitMsMax: READY_MS_MAX });
  const isUp = (): boolean => lines.some((line) => line.endsWith("] ready"));
  await waiter.waitUntil(() => isUp() || daemon.exitCode !== null);
  return isUp();
}

/** Two jobs, each checked from their files alone. */
async function exchange({ files, lines }: Transport, waitMsMax: number): Promise<boolean> {
  const producer = createProducerV2({ ...files, clock: systemClock, waitMsMax });
  const post = async (
    job: Cubb2Job,
    input: Uint8Array,
    claimsOf: (done: Cbd2Done, output: Uint8Array) => Readonly<Record<string, boolean>>,
  ): Promise<boolean> => {
    putWhole(files.in, input);
    producer.post(CUBB2_JOB.encode(job));
    lines.push(`producer: posted seq ${job.seq}, op ${job.op}, n ${job.n}`);
    const done = await producer.waitForDone(job.seq);
    if (done === null) {
      lines.push(`producer: FAIL no done record came for seq ${job.seq}`);
      return false;
    }
    lines.push(`producer: done record ${Buffer.from(CBD2_DONE.encode(done)).toString("hex")}`);
    const { pass, seen } = judge(doneText(done), {
      "the status is ok": done.status === STATUS.ok,
      "op, n and out_bytes are the job's":
        done.op === job.op && done.n === job.n && done.outBytes === job.outBytes,
      "nothing is bad": done.bad === 0n,
      ...claimsOf(done, readIfThere(files.out) ?? new Uint8Array(0)),
    });
    lines.push(`producer: ${verdict(pass)} ${seen}`);
    return pass;
  };
  const words = bytesOf(mailWords());
  const mail = { op: OPERATION.mail, n: BigInt(words.length / 4) };
  const sizes = { inBytes: BigInt(words.length), outBytes: BigInt(words.length) };
  const isSum = await post(
    vaddRecord({ seq: FIRST_SEQ, guestId: GUEST_ID }, VADD_ELEMENTS),
    vaddInput(VADD_ELEMENTS),
    ({ checksum }, output) => ({
      "the checksum is the known one": checksum === VADD_CHECKSUM,
      "out is bit for bit a + b": isEqualF32(
        referenceVadd(selfTestA(VADD_ELEMENTS), selfTestB(VADD_ELEMENTS)),
        output,
      ),
    }),
  );
  const isMail = await post(
    jobRecord({ seq: FIRST_SEQ + 1n, guestId: GUEST_ID, ...mail, ...sizes }),
    words,
    (_, output) => ({ "every byte came back": Buffer.from(output).equals(words) }),
  );
  return isSum && isMail;
}

function doneText(done: Cbd2Done): string {
  const { seq, op, n, outBytes, kernelNs, wallNs, checksum, bad, checked, device } = done;
  return (
    `seq=${seq} op=${op} n=${n} status=${statusName(done.status)} kernel_ns=${kernelNs} ` +
    `wall_ns=${wallNs} checksum=${checksum.toFixed(6)} bad=${bad} checked=${checked} ` +
    `out_bytes=${outBytes} device="${device}"`
  );
}
