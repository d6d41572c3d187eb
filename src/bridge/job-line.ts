/** The greppable line of each executed job (DESIGN section 6, rule 6). Others parse it: frozen. */
import type { Ending } from "./ending.ts";
import { fixedPoint } from "./fixed-point.ts";

/** What the line repeats of the job's record. */
export type JobEcho = { readonly seq: bigint; readonly op: number; readonly n: bigint };

/**
 * `CUBB2 seq=42 op=2 n=1048576 gpu="…" kernel_ns=41919 status=ok checksum=392344090.500000 bad=0
 * out_bytes=4194304`, as one line.
 */
export const jobLineV2 = (echo: JobEcho, ending: Ending): string =>
  `CUBB2 ${commonKeys(echo, ending)} out_bytes=${ending.outBytes}`;

/** `CUBB job seq=1000 op=2 … bad=0`: the same keys, but for the last. */
export const jobLineV1 = (echo: JobEcho, ending: Ending): string =>
  `CUBB job ${commonKeys(echo, ending)}`;

function commonKeys({ seq, op, n }: JobEcho, ending: Ending): string {
  const { device, kernelNs, status, checksum, bad } = ending;
  return (
    `seq=${String(seq)} op=${op} n=${String(n)} gpu="${quotable(device)}" ` +
    `kernel_ns=${kernelNs} status=${status} checksum=${fixedPoint(checksum)} bad=${bad}`
  );
}

/** A device's name comes from its driver; nothing in it may end the quotes or the line. */
const quotable = (name: string): string => name.replaceAll(/["\\\u0000-\u001f\u007f-\u009f]/g, "?");
