/** What producers write. Frozen: a change is a record with another magic or version. */
import { fixedU16, fixedU32, magic, magicU32, reserved, seal, u32, u32x3, u64 } from "./field.ts";
import { DONE_RECORDS, V1_JOB, V2_JOB } from "./lookalikes.ts";
import { declareRecord, type ValueOf } from "./record.ts";

/** A job whose operands and results are in the files `in` and `out`. 128 bytes. */
export const CUBB2_JOB = declareRecord({
  title: "CUBB2 job",
  cName: "hf_cubb2_job",
  purpose: "A job of protocol v2: operands in `in`, results in `out`.",
  bytes: 128,
  fields: {
    magic: magic("CUBB2", 8),
    version: fixedU16("version", 2, "2"),
    recordBytes: fixedU16("record_bytes", 128, "128"),
    flags: u32("1 SEQ_RESET, 2 VERIFY_FULL, 4 VERIFY_NONE; all other bits zero"),
    seq: u64("sequence number, from 1, rising"),
    op: u32("operation"),
    timeoutMs: u32("the longest that the kernel may run; 0: the daemon's default"),
    n: u64("elements"),
    inBytes: u64("bytes that `in` holds"),
    outBytes: u64("bytes that the producer wants in `out`"),
    grid: u32x3("blocks in x, y, z; 0, 0, 0: the daemon chooses"),
    block: u32x3("threads of a block in x, y, z; 0, 0, 0: the daemon chooses"),
    sharedBytes: u32("dynamic shared memory of a block"),
    descBytes: u32("op 256: bytes of the launch descriptor at the start of `in`; else 0"),
    guestId: u64("free for the producer; echoed in the daemon's log"),
    iters: u32("op 4: additions; else 0"),
    reserved: reserved(24),
    crc32c: seal(124),
  },
  lookalikes: [V1_JOB, ...DONE_RECORDS],
});

export type Cubb2Job = ValueOf<typeof CUBB2_JOB>;

/** A job in which everything is zero, to be filled: what is left is the daemon's choice. */
export const BLANK_CUBB2_JOB: Cubb2Job = {
  flags: 0,
  seq: 0n,
  op: 0,
  timeoutMs: 0,
  n: 0n,
  inBytes: 0n,
  outBytes: 0n,
  grid: [0, 0, 0],
  block: [0, 0, 0],
  sharedBytes: 0,
  descBytes: 0,
  guestId: 0n,
  iters: 0,
};

/** A job whose operands and results are in the guest's RAM. 48 bytes. */
export const CUBB_JOB = declareRecord({
  title: "CUBB job",
  cName: "hf_cubb_job",
  purpose: "A job of protocol v1: operands and results in the guest's RAM.",
  bytes: 48,
  fields: {
    magic: magicU32("CUBB"),
    version: fixedU32("version", 1, "1"),
    seq: u64("sequence number, from 1, rising"),
    op: u32("operation, 1 to 3"),
    n: u32("elements"),
    gpaA: u64("guest-physical address of the first operand"),
    gpaB: u64("guest-physical address of the second operand; op 1 does not use it"),
    gpaC: u64("guest-physical address of the result"),
  },
  lookalikes: [V2_JOB, ...DONE_RECORDS],
});

export type CubbJob = ValueOf<typeof CUBB_JOB>;
