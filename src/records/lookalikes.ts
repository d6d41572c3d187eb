/** Bytes that are met in place of a record, each with the words that help. */
import type { Lookalike } from "./record.ts";

const encode = (characters: string): Uint8Array => new TextEncoder().encode(characters);

/** A v1 job where a v2 job is wanted: `CUBB`, then the u32 1. */
export const V1_JOB: Lookalike = {
  prefix: encode("CUBB\u0001\0\0\0"),
  message:
    "this is a v1 job (CUBB) where v2 jobs (CUBB2) are served: start the bridge with --ram for " +
    "v1, or write a CUBB2 record",
};

/** A v2 job where a v1 job is wanted. */
export const V2_JOB: Lookalike = {
  prefix: encode("CUBB2\0\0\0"),
  message:
    "this is a v2 job (CUBB2) where v1 jobs (CUBB) are served: start the bridge with --in and " +
    "--out for v2, or write a CUBB record",
};

/** Done records where jobs are wanted. */
export const DONE_RECORDS: readonly Lookalike[] = ["CBD2\0\0\0\0", "CUBD\u0001\0\0\0"].map(
  (characters) => ({
    prefix: encode(characters),
    message:
      "this is a done record where jobs are wanted: are --job and --done the right way round?",
  }),
);
