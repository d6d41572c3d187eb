/** What the numbers of the protocol mean, in the words of the documents: one line of Markdown. */
import type { ArgumentKind, JobFlagName, OperationName, StatusName } from "./tables.ts";

export type OperationMeaning = {
  /** What `in` holds, and what `out` gets. */
  readonly effect: string;
  readonly inBytes: string;
  readonly outBytes: string;
};

export const OPERATION_MEANING: Readonly<Record<OperationName, OperationMeaning>> = {
  mail: {
    effect: "`n` u32 words, delivered unchanged; exact to the byte",
    inBytes: "4 n",
    outBytes: "4 n",
  },
  vadd: {
    effect: "`a[n]`, then `b[n]`, f32; out: `c[n]` = a + b",
    inBytes: "8 n",
    outBytes: "4 n",
  },
  vadd_mutated: {
    effect: "as vadd, plus 1, and compared with vadd: it must end as verify_failed",
    inBytes: "8 n",
    outBytes: "4 n",
  },
  slow_add: {
    effect: "`in[n]` f32; out: each plus `iters`, by adding 1.0f so many times",
    inBytes: "4 n",
    outBytes: "4 n",
  },
  launch: {
    effect: "any kernel: a launch descriptor, then what its arguments refer to",
    inBytes: "up to 2 GiB",
    outBytes: "up to 1 GiB",
  },
};

export type StatusMeaning = { readonly cause: string; readonly mend: string };

export const STATUS_MEANING: Readonly<Record<StatusName, StatusMeaning>> = {
  ok: { cause: "it ran, and nothing that was compared was wrong", mend: "none is needed" },
  bad_version: {
    cause: "`version` is not the one of this record",
    mend: "write 2 (CUBB2) or 1 (CUBB); a version never changes its layout",
  },
  bad_size: {
    cause:
      "`record_bytes`, `n`, `in_bytes`, `out_bytes`, `desc_bytes`, `iters`, `grid` or `block` is " +
      "not what the operation needs, or the device cannot launch that grid and block",
    mend: "compute the sizes from `op` and `n`; leave grid and block zero with ops 1 to 4",
  },
  unknown_op: {
    cause: "`op` is no operation of this protocol version",
    mend: "v2 has 1 to 4 and 256, v1 has 1 to 3",
  },
  bad_flags: {
    cause: "an unknown flag, both verify flags at once, or reserved bytes that are not zero",
    mend: "clear the whole record before it is filled",
  },
  out_of_bounds: {
    cause:
      "v1: a range that is not wholly in RAM on one side of the hole, or a result that overlaps " +
      "an operand; launch: a slice outside its file, or two that overlap in `out`",
    mend: "check the addresses, and `--ram-low-size`; lay the slices out one behind the other",
  },
  misaligned: {
    cause: "v1: an address that is no multiple of 4; launch: a slice that does not begin at 8",
    mend: "align the buffer; pad the slices",
  },
  too_large: {
    cause:
      "`n` above 2^28, `iters` above 2^24 - 1, `in_bytes` above 2 GiB or `out_bytes` above 1 GiB," +
      " or more than the device's memory has room for",
    mend: "cut the job into several",
  },
  no_device: {
    cause: "the daemon has no device that it may use for this mailbox",
    mend: "see the daemon's log, and `holdfast devices` on its host",
  },
  device_error: {
    cause: "the driver or the kernel failed; `cuda_error` is the driver's number",
    mend: "an address in the kernel, most often; the device is restored for the next job",
  },
  timeout: {
    cause:
      "the kernel ran longer than `timeout_ms` and was ended; or its launch was not reached in " +
      "60 s and more, e.g. in a read of `in` that never returns",
    mend:
      "ask for more time (the daemon has an upper bound), or for less work; see that `in` can " +
      "be read",
  },
  verify_failed: {
    cause: "it ran, and `bad` of the `checked` elements were wrong; `out` is written all the same",
    mend: "with op 3: none, that is its purpose; else do not trust this device",
  },
  io_error: {
    cause: "`in`, `out` or the RAM file could not be read or written, or was too short",
    mend: "write `in` whole before the job; look for room and permissions",
  },
  unknown_kernel: {
    cause: "no module of that SHA-256, no such entry in it, or PTX that does not load",
    mend: "put the `.ptx` file into the daemon's `--modules` folder, byte for byte",
  },
  bad_descriptor: {
    cause: "the launch descriptor breaks a rule, or its arguments are not those of the kernel",
    mend: "the daemon's log names the argument and the rule",
  },
  internal: {
    cause: "a bug of the daemon",
    mend: "report it, with the daemon's log",
  },
};

export const JOB_FLAG_MEANING: Readonly<Record<JobFlagName, string>> = {
  seq_reset: "the producer began anew: a seq below the last one is run, once",
  verify_full: "compare every element",
  verify_none: "compare nothing",
};

export type ArgumentMeaning = {
  readonly effect: string;
  readonly type: string;
  readonly offset: string;
  readonly bytes: string;
  readonly value: string;
};

export const ARGUMENT_MEANING: Readonly<Record<ArgumentKind, ArgumentMeaning>> = {
  scalar: {
    effect: "a number",
    type: "its type",
    offset: "0",
    bytes: "0",
    value: "its bits, zero-extended",
  },
  in: {
    effect: "pointer to a buffer filled from `in`",
    type: "of its elements",
    offset: "in `in`",
    bytes: "size",
    value: "0",
  },
  out: {
    effect: "pointer to a buffer of zeros, copied to `out` afterwards",
    type: "of its elements",
    offset: "0",
    bytes: "size",
    value: "offset in `out`",
  },
  inout: {
    effect: "pointer to a buffer filled from `in`, copied to `out` afterwards",
    type: "of its elements",
    offset: "in `in`",
    bytes: "size",
    value: "offset in `out`",
  },
  alias: {
    effect: "pointer into the buffer of another argument",
    type: "0",
    offset: "index of that argument",
    bytes: "0",
    value: "offset into its buffer",
  },
  bytes: {
    effect: "a struct by value",
    type: "0",
    offset: "in `in`",
    bytes: "size",
    value: "0",
  },
};
