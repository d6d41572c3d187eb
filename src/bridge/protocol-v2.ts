/** Protocol v2: CUBB2 records in, CBD2 records out, payload in two files. */
import { err, ok, type Result } from "../base/mod.ts";
import type { CheckExtent } from "../owner/mod.ts";
import {
  CBD2_DONE,
  CUBB2_JOB,
  JOB_FLAG,
  STATUS,
  type Cubb2Job,
  type RecordFault,
} from "../records/mod.ts";
import type { AdmissionOptionsV2 } from "./admission.ts";
import { admitV2 } from "./admit-v2.ts";
import { jobLineV2, type JobEcho } from "./job-line.ts";
import {
  completedJob,
  faultStatus,
  unanswered,
  type PostedJob,
  type Protocol,
  type TimedEnding,
  type UnansweredRecord,
} from "./protocol.ts";

export function createProtocolV2(options: AdmissionOptionsV2): Protocol {
  const read = (bytes: Uint8Array): Result<PostedJob, UnansweredRecord> => {
    const decoded = CUBB2_JOB.decode(bytes);
    if (decoded.ok) return ok(postedJob(decoded.value, options));
    const { seq } = decoded.error;
    return seq === null
      ? err(unanswered(CUBB2_JOB, bytes, decoded.error))
      : ok(faultyJob(bytes, seq, decoded.error));
  };
  return {
    recordBytes: CUBB2_JOB.bytes,
    staleMend: "begin above it, or set SEQ_RESET once",
    read,
    doneBytes: CBD2_DONE.bytes,
    readDone: (bytes) => completedJob(CBD2_DONE, bytes),
  };
}

type AnswerV2 = Pick<PostedJob, "encodeDone" | "line">;

function answerV2(echo: JobEcho): AnswerV2 {
  return {
    encodeDone: (ending) => encodeDone(echo, ending),
    line: (ending) => jobLineV2(echo, ending),
  };
}

function postedJob(record: Cubb2Job, options: AdmissionOptionsV2): PostedJob {
  const { seq, op, n, flags, guestId } = record;
  return {
    seq,
    isReset: isResetAsked(flags),
    label: `seq ${String(seq)} of guest ${String(guestId)}`,
    admit: () => admitV2(record, options),
    ...answerV2({ seq, op, n }),
  };
}

const isResetAsked = (flags: number): boolean => (flags & JOB_FLAG.seq_reset) !== 0;

/**
 * A record whose CRC is right, so that its number counts, and which is wrong all the same. Its
 * flags count where its version and size are right: in another version the bit may mean another
 * thing.
 */
function faultyJob(bytes: Uint8Array, seq: bigint, fault: RecordFault): PostedJob {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const op = view.getUint32(CUBB2_JOB.offsets.op, true);
  const n = view.getBigUint64(CUBB2_JOB.offsets.n, true);
  const flags = view.getUint32(CUBB2_JOB.offsets.flags, true);
  return {
    seq,
    isReset: fault.code === "bad_reserved" && isResetAsked(flags),
    label: `seq ${String(seq)}`,
    admit: () => Promise.resolve(err({ status: faultStatus(fault), reason: fault.message })),
    ...answerV2({ seq, op, n }),
  };
}

/** What `flags` of a done record says of each extent. */
const EXTENT_FLAGS: Readonly<Record<CheckExtent, number>> = {
  full: JOB_FLAG.verify_full,
  sample: 0,
  none: JOB_FLAG.verify_none,
};

function encodeDone({ seq, op, n }: JobEcho, ending: TimedEnding): Uint8Array {
  const { cudaError, device, checksum, extent } = ending;
  return CBD2_DONE.encode({
    seq,
    op,
    n,
    cudaError,
    device,
    checksum,
    status: STATUS[ending.status],
    outBytes: BigInt(ending.outBytes),
    kernelNs: BigInt(ending.kernelNs),
    wallNs: BigInt(ending.wallNs),
    bad: BigInt(ending.bad),
    checked: BigInt(ending.checked),
    flags: extent === null ? 0 : EXTENT_FLAGS[extent],
  });
}
