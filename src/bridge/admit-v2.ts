/**
 * Admission of v2 records: every rule that a record is judged by before anything runs, and the job
 * that is made of it. The rules are tried in the order of docs/PROTOCOL.md; the first that fails
 * gives the status.
 */
import { err, FileError } from "../base/mod.ts";
import { catalogueOperation } from "../owner/mod.ts";
import { JOB_FLAG, OPERATION, type Cubb2Job } from "../records/mod.ts";
import { refuse, type Admission, type AdmissionOptionsV2 } from "./admission.ts";
import { admitLaunch } from "./admit-launch.ts";
import { admitOperation } from "./admit-operation.ts";
import type { Refusal } from "./ending.ts";

const KNOWN_FLAGS = JOB_FLAG.seq_reset | JOB_FLAG.verify_full | JOB_FLAG.verify_none;

export async function admitV2(record: Cubb2Job, options: AdmissionOptionsV2): Promise<Admission> {
  const wrongFlags = findFlagsFault(record.flags);
  if (wrongFlags !== null) return err(wrongFlags);
  try {
    if (record.op === OPERATION.launch) return await admitLaunch(record, options);
    const kernel = catalogueOperation(record.op);
    return kernel === null
      ? err(refuse("unknown_op", `op ${record.op} is none of 1 to 4 and 256`))
      : admitOperation(record, kernel, options);
  } catch (error) {
    // A file that had to be looked at, e.g. in a folder that may not be entered.
    if (error instanceof FileError) return err(refuse("io_error", error.message));
    throw error;
  }
}

function findFlagsFault(flags: number): Refusal | null {
  // `>>>` makes bit 31 count as a positive number.
  const unknown = (flags & ~KNOWN_FLAGS) >>> 0;
  if (unknown !== 0) {
    return refuse("bad_flags", `flags 0x${unknown.toString(16)} are unknown: clear them`);
  }
  const both = JOB_FLAG.verify_full | JOB_FLAG.verify_none;
  if ((flags & both) !== both) return null;
  return refuse("bad_flags", "VERIFY_FULL and VERIFY_NONE contradict each other: set one at most");
}
