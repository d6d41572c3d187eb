/** The self-test's checks of the v2 mailbox, on plain files; each posts records and judges. */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import type { MailboxV2 } from "../../bridge/mod.ts";
import {
  checksumF64,
  compareF32,
  referenceSlowAdd,
  referenceVadd,
  selfTestA,
  selfTestB,
} from "../../gpu/mod.ts";
import {
  CUBB2_JOB,
  encodeLaunchDescriptor,
  launchDescriptorBytes,
  OPERATION,
  STATUS,
  statusName,
  type Cbd2Done,
  type Cubb2Job,
} from "../../records/mod.ts";
import type { BridgeSession } from "../trial/bridge-session.ts";
import { judge, NO_DONE, type Finding } from "../trial/check-report.ts";
import { bytesOf, floatsOf, jobRecord, vaddInput, vaddRecord } from "../trial/job-record.ts";
import { fileIdentity, putWhole, readIfThere, type Producer } from "../trial/producer.ts";
import { durationText } from "../units.ts";

/** What the v2 checks work with. */
export type StageV2 = {
  readonly mailbox: MailboxV2;
  readonly producer: Producer<Cbd2Done>;
  readonly session: BridgeSession;
  /** Absolute path of kernels/base.ptx, which lies in the mailbox's folder of modules. */
  readonly basePayload: string;
  /** The next sequence number, from 1. */
  readonly nextSeq: () => bigint;
};

/** One check; the name is what its line begins with. */
export type CheckV2 = {
  readonly name: string;
  readonly run: (stage: StageV2) => Promise<Finding>;
};

/** The checksum of vadd over the self-test pattern with this many elements is known. */
const VADD_ELEMENTS = 2 ** 20;
export const VADD_CHECKSUM = 392_344_090.5;

/** No multiple of a block's threads, so that the last block has threads too many. */
const ODD_ELEMENTS = 65_537;

const SLOW_ADD_ITERATIONS = 1000;

/** CUDA's number for an access outside of memory. */
const ILLEGAL_ADDRESS = 700;

/** Beyond any memory, so that a kernel that writes there must fault. */
const WILD_ADDRESS = 0x10n;

type Answer = { readonly done: Cbd2Done | null; readonly output: Uint8Array };

/** Posts a job with its input (null: without) and waits for the answer. */
async function runJob(stage: StageV2, job: Cubb2Job, input: Uint8Array | null): Promise<Answer> {
  const { mailbox, producer } = stage;
  rmSync(mailbox.out, { force: true });
  if (input === null) rmSync(mailbox.in, { force: true });
  else putWhole(mailbox.in, input);
  producer.post(CUBB2_JOB.encode(job));
  const done = await producer.waitForDone(job.seq);
  return { done, output: readIfThere(mailbox.out) ?? new Uint8Array(0) };
}

async function checkMail(stage: StageV2): Promise<Finding> {
  const words = mailWords();
  const bytes = BigInt(words.byteLength);
  const sizes = { n: BigInt(words.length), inBytes: bytes, outBytes: bytes };
  const job = jobRecord({ seq: stage.nextSeq(), op: OPERATION.mail, ...sizes });
  const { done, output } = await runJob(stage, job, bytesOf(words));
  if (done === null) return NO_DONE;
  return judge(`${words.length} words${timesText(done)}`, {
    ...claimsOf(done, job, "ok"),
    "every byte came back": Buffer.from(output).equals(bytesOf(words)),
  });
}

async function checkVadd(stage: StageV2): Promise<Finding> {
  const job = vaddRecord({ seq: stage.nextSeq() }, VADD_ELEMENTS);
  const { done, output } = await runJob(stage, job, vaddInput(VADD_ELEMENTS));
  if (done === null) return NO_DONE;
  const expected = referenceVadd(selfTestA(VADD_ELEMENTS), selfTestB(VADD_ELEMENTS));
  const checksum = done.checksum.toFixed(6);
  return judge(`${VADD_ELEMENTS} sums, checksum ${checksum}${timesText(done)}`, {
    ...claimsOf(done, job, "ok"),
    "the checksum is the known one": done.checksum === VADD_CHECKSUM,
    "out is bit for bit a + b": isEqualF32(expected, output),
  });
}

async function checkSlowAdd(stage: StageV2): Promise<Finding> {
  const input = selfTestA(ODD_ELEMENTS);
  const sizes = { n: BigInt(ODD_ELEMENTS), inBytes: BigInt(input.byteLength) };
  const job = jobRecord({
    seq: stage.nextSeq(),
    op: OPERATION.slow_add,
    iters: SLOW_ADD_ITERATIONS,
    ...sizes,
    outBytes: sizes.inBytes,
  });
  const { done, output } = await runJob(stage, job, bytesOf(input));
  if (done === null) return NO_DONE;
  return judge(`${ODD_ELEMENTS} elements, ${SLOW_ADD_ITERATIONS} additions${timesText(done)}`, {
    ...claimsOf(done, job, "ok"),
    "out is bit for bit right": isEqualF32(referenceSlowAdd(input, SLOW_ADD_ITERATIONS), output),
  });
}

/** Any kernel by its module's SHA-256: here vadd of the base payload, as a guest would name it. */
async function checkLaunch(stage: StageV2): Promise<Finding> {
  const [a, b] = [selfTestA(ODD_ELEMENTS), selfTestB(ODD_ELEMENTS)];
  const { job, input } = launchOf(stage, [bytesOf(a), bytesOf(b)], null);
  const { done, output } = await runJob(stage, job, input);
  if (done === null) return NO_DONE;
  const expected = referenceVadd(a, b);
  return judge(`vadd of base.ptx by its SHA-256, ${ODD_ELEMENTS} sums${timesText(done)}`, {
    ...claimsOf(done, job, "ok"),
    "out is bit for bit a + b": isEqualF32(expected, output),
    "the checksum is that of out": done.checksum === checksumF64(expected),
  });
}

/** A kernel that writes where no memory is costs its die host, and nothing else. */
async function checkFault(stage: StageV2): Promise<Finding> {
  const operands = [bytesOf(selfTestA(ODD_ELEMENTS)), bytesOf(selfTestB(ODD_ELEMENTS))] as const;
  const { job, input } = launchOf(stage, operands, WILD_ADDRESS);
  const { done } = await runJob(stage, job, input);
  if (done === null) return NO_DONE;
  return judge(`a wild pointer: ${statusName(done.status)}, CUDA error ${done.cudaError}`, {
    ...claimsOf(done, job, "device_error"),
    [`the CUDA error is ${ILLEGAL_ADDRESS}`]: done.cudaError === ILLEGAL_ADDRESS,
  });
}

/** Op 256 for `vadd`; `target` null: its output is a slice of `out`, else that address. */
function launchOf(
  stage: StageV2,
  [a, b]: readonly [Uint8Array, Uint8Array],
  target: bigint | null,
): { readonly job: Cubb2Job; readonly input: Uint8Array } {
  const entry = "vadd";
  const descBytes = launchDescriptorBytes(4, entry);
  const paddedBytes = Math.ceil(a.length / 8) * 8;
  const bytes = a.length;
  const descriptor = encodeLaunchDescriptor({
    moduleSha256: createHash("sha256").update(readFileSync(stage.basePayload)).digest("hex"),
    entry,
    arguments: [
      target === null
        ? { kind: "out", type: "f32", outOffset: 0, bytes }
        : { kind: "scalar", type: "u64", value: target },
      { kind: "in", type: "f32", offset: descBytes, bytes },
      { kind: "in", type: "f32", offset: descBytes + paddedBytes, bytes },
      { kind: "scalar", type: "u32", value: BigInt(ODD_ELEMENTS) },
    ],
  });
  const input = new Uint8Array(descBytes + paddedBytes + bytes);
  input.set(descriptor);
  input.set(a, descBytes);
  input.set(b, descBytes + paddedBytes);
  const job = jobRecord({
    seq: stage.nextSeq(),
    op: OPERATION.launch,
    n: BigInt(ODD_ELEMENTS),
    inBytes: BigInt(input.length),
    outBytes: target === null ? BigInt(bytes) : 0n,
    grid: [Math.ceil(ODD_ELEMENTS / 256), 1, 1],
    block: [256, 1, 1],
    descBytes,
  });
  return { job, input };
}

/** The last record, posted again, is answered again and not run again. */
async function checkRepeatedSeq(stage: StageV2): Promise<Finding> {
  const { mailbox, producer, session } = stage;
  const { job, done } = await runSmallJob(stage);
  if (done === null) return NO_DONE;
  const [answer, identity] = [readIfThere(mailbox.done), fileIdentity(mailbox.done)];
  const before = session.counters(mailbox.name);
  producer.post(CUBB2_JOB.encode(job));
  const isRepeated = await producer.waitUntil(
    () => session.counters(mailbox.name).repeated > before.repeated,
  );
  const isWritten = await producer.waitUntil(() => fileIdentity(mailbox.done) !== identity);
  const again = readIfThere(mailbox.done);
  return judge(`seq ${job.seq} again`, {
    "it was counted as repeated": isRepeated,
    "its done record was written again": isWritten,
    "the same one": answer !== null && again !== null && Buffer.from(again).equals(answer),
    "it was not run again": session.counters(mailbox.name).jobs === before.jobs,
  });
}

async function runSmallJob(stage: StageV2): Promise<Answer & { readonly job: Cubb2Job }> {
  const elements = 256;
  const job = vaddRecord({ seq: stage.nextSeq() }, elements);
  return { job, ...(await runJob(stage, job, vaddInput(elements))) };
}

/** Posts what must get no done record; `reason` is the counter that must rise for it. */
async function checkRejected(
  stage: StageV2,
  reason: string,
  recordOf: (valid: Uint8Array, seq: bigint) => Uint8Array,
): Promise<Finding> {
  const { mailbox, producer, session } = stage;
  const { done } = await runSmallJob(stage);
  if (done === null) return NO_DONE;
  const identity = fileIdentity(mailbox.done);
  const counted = (): number => session.counters(mailbox.name).rejected[reason] ?? 0;
  const [before, { jobs }] = [counted(), session.counters(mailbox.name)];
  const valid = CUBB2_JOB.encode(vaddRecord({ seq: done.seq + 1n }, 256));
  producer.post(recordOf(valid, done.seq));
  const isCounted = await producer.waitUntil(() => counted() > before);
  producer.clear();
  return judge("no done record, counted", {
    [`counted as ${reason}`]: isCounted,
    "no done record was written": fileIdentity(mailbox.done) === identity,
    "it was not run": session.counters(mailbox.name).jobs === jobs,
  });
}

async function checkMissingInput(stage: StageV2): Promise<Finding> {
  const job = vaddRecord({ seq: stage.nextSeq() }, VADD_ELEMENTS);
  const { done } = await runJob(stage, job, null);
  if (done === null) return NO_DONE;
  return judge(`no file 'in': ${statusName(done.status)}`, claimsOf(done, job, "io_error"));
}

async function checkRecovery(stage: StageV2): Promise<Finding> {
  const { job, done } = await runSmallJob(stage);
  if (done === null) return NO_DONE;
  return judge(`the next job: ${statusName(done.status)}`, claimsOf(done, job, "ok"));
}

/** Records that are whole and ask for what cannot be. */
const WRONG: readonly (readonly [keyof typeof STATUS, Partial<Cubb2Job>])[] = [
  ["bad_size", { n: 0n, inBytes: 0n, outBytes: 0n }],
  ["bad_size", { inBytes: 2047n }],
  ["bad_size", { outBytes: 1028n }],
  ["bad_size", { block: [32, 2, 1], grid: [8, 1, 1] }],
  ["too_large", { n: 2n ** 28n + 1n, inBytes: 8n * (2n ** 28n + 1n) }],
  ["unknown_op", { op: 5 }],
  ["bad_flags", { flags: 64 }],
];

async function checkBounds(stage: StageV2): Promise<Finding> {
  const [seen, claims]: [string[], Record<string, boolean>] = [[], {}];
  for (const [expected, fields] of WRONG) {
    const job = { ...vaddRecord({ seq: stage.nextSeq() }, 256), ...fields };
    const { done } = await runJob(stage, job, vaddInput(256));
    if (done === null) return NO_DONE;
    seen.push(statusName(done.status));
    const names = Object.keys(fields).join(" and ");
    claims[`wrong ${names} is ${expected}`] = done.status === STATUS[expected];
  }
  return judge(seen.join(" "), claims);
}

/** What must hold of every done record. */
function claimsOf(
  done: Cbd2Done,
  job: Cubb2Job,
  status: keyof typeof STATUS,
): Readonly<Record<string, boolean>> {
  return {
    [`the status is ${status}, not ${statusName(done.status)}`]: done.status === STATUS[status],
    "op and n are the job's": done.op === job.op && done.n === job.n,
    "nothing is bad": done.bad === 0n,
    "out_bytes is what was written": done.outBytes === (status === "ok" ? job.outBytes : 0n),
  };
}

const timesText = ({ kernelNs, wallNs }: Cbd2Done): string =>
  `; kernel ${durationText(Number(kernelNs))}, in all ${durationText(Number(wallNs))}`;

/** Words in which each byte takes every value. */
export function mailWords(): Uint32Array {
  return Uint32Array.from({ length: ODD_ELEMENTS }, (_, index) => Math.imul(index, 0x9e3779b1));
}

/** Same length, same bits. */
export function isEqualF32(expected: Float32Array, bytes: Uint8Array): boolean {
  return bytes.length === expected.byteLength && compareF32(expected, floatsOf(bytes)).bad === 0;
}

/** In this order: what a guest does first, then what must not harm it. */
export const CHECKS_V2: readonly CheckV2[] = [
  { name: "v2 mail", run: checkMail },
  { name: "v2 vadd", run: checkVadd },
  { name: "v2 slow_add", run: checkSlowAdd },
  { name: "v2 launch", run: checkLaunch },
  { name: "v2 repeated seq", run: checkRepeatedSeq },
  {
    name: "v2 stale seq",
    run: (stage) =>
      checkRejected(stage, "stale_seq", (_, seq) =>
        CUBB2_JOB.encode(vaddRecord({ seq: seq - 1n }, 256)),
      ),
  },
  { name: "v2 bad magic", run: (stage) => checkRejected(stage, "bad_magic", flipped(0)) },
  { name: "v2 bad crc", run: (stage) => checkRejected(stage, "bad_crc", flipped(100)) },
  { name: "v2 missing input", run: checkMissingInput },
  { name: "v2 kernel fault", run: checkFault },
  { name: "v2 after the fault", run: checkRecovery },
  { name: "v2 bounds", run: checkBounds },
];

/** The record with one bit of that byte flipped. */
const flipped =
  (offset: number) =>
  (record: Uint8Array): Uint8Array =>
    record.map((byte, index) => (index === offset ? byte ^ 1 : byte));
