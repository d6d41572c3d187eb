/** Protocol v1: CUBB records in, CUBD records out, operands and results in the guest's RAM. */
import { err, ok, type Result } from "../base/mod.ts";
import { CUBB_JOB, CUBD_DONE, STATUS, type CubbJob, type RecordFault } from "../records/mod.ts";
import { admitV1, type AdmissionOptionsV1 } from "./admit-v1.ts";
import { jobLineV1, type JobEcho } from "./job-line.ts";
import {
  completedJob,
  faultStatus,
  unanswered,
  type PostedJob,
  type Protocol,
  type TimedEnding,
  type UnansweredRecord,
} from "./protocol.ts";

/** What `bad` of a done record says at most: that many, or more. */
const BAD_MAX = 2 ** 32 - 1;

export function createProtocolV1(options: AdmissionOptionsV1): Protocol {
  const read = (bytes: Uint8Array): Result<PostedJob, UnansweredRecord> => {
    const decoded = CUBB_JOB.decode(bytes);
    if (decoded.ok) return ok(postedJob(decoded.value, options));
    const { seq } = decoded.error;
    return seq === null
      ? err(unanswered(CUBB_JOB, bytes, decoded.error))
      : ok(faultyJob(bytes, seq, decoded.error));
  };
  return {
    recordBytes: CUBB_JOB.bytes,
    staleMend: "begin above it, or start the bridge with --forget-seq",
    read,
    doneBytes: CUBD_DONE.bytes,
    readDone: (bytes) => completedJob(CUBD_DONE, bytes),
  };
}

function answerV1(echo: JobEcho): Omit<PostedJob, "admit"> {
  return {
    seq: echo.seq,
    isReset: false,
    label: `seq ${String(echo.seq)}`,
    encodeDone: (ending) => encodeDone(echo.seq, ending),
    line: (ending) => jobLineV1(echo, ending),
  };
}

const postedJob = (record: CubbJob, options: AdmissionOptionsV1): PostedJob => ({
  ...answerV1({ seq: record.seq, op: record.op, n: BigInt(record.n) }),
  admit: () => Promise.resolve(admitV1(record, options)),
});

/** A record of another version, whose number lies where ours does. */
function faultyJob(bytes: Uint8Array, seq: bigint, fault: RecordFault): PostedJob {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const op = view.getUint32(CUBB_JOB.offsets.op, true);
  const n = BigInt(view.getUint32(CUBB_JOB.offsets.n, true));
  const refusal = { status: faultStatus(fault), reason: fault.message };
  return { ...answerV1({ seq, op, n }), admit: () => Promise.resolve(err(refusal)) };
}

function encodeDone(seq: bigint, ending: TimedEnding): Uint8Array {
  return CUBD_DONE.encode({
    seq,
    status: STATUS[ending.status],
    checksum: ending.checksum,
    bad: Math.min(ending.bad, BAD_MAX),
    kernelNs: BigInt(ending.kernelNs),
  });
}
