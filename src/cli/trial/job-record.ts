/** Job records of v2 with the usual in all fields but those that are named. */
import { invariant } from "../../base/mod.ts";
import { BLANK_CUBB2_JOB, OPERATION, type Cubb2Job } from "../../records/mod.ts";
import { selfTestA, selfTestB } from "../../gpu/mod.ts";

/** A job in which everything that is not given is zero: the daemon chooses. */
export const jobRecord = (fields: Partial<Cubb2Job> & Pick<Cubb2Job, "seq" | "op">): Cubb2Job => ({
  ...BLANK_CUBB2_JOB,
  ...fields,
});

const F32_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** `c = a + b` (op 2), or its mutated twin (op 3). */
export const vaddRecord = (
  fields: Partial<Cubb2Job> & Pick<Cubb2Job, "seq">,
  elements: number,
): Cubb2Job =>
  jobRecord({
    op: OPERATION.vadd,
    n: BigInt(elements),
    inBytes: BigInt(2 * elements * F32_BYTES),
    outBytes: BigInt(elements * F32_BYTES),
    ...fields,
  });

/** Both operands of the self-test pattern, one behind the other: what `in` holds for vadd. */
export function vaddInput(elements: number): Uint8Array {
  const input = new Float32Array(2 * elements);
  input.set(selfTestA(elements));
  input.set(selfTestB(elements), elements);
  return bytesOf(input);
}

/** The bytes of an array, not copied. */
export const bytesOf = (values: Float32Array | Uint32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** Bytes as f32, copied to where they are aligned. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  invariant(bytes.length % F32_BYTES === 0, "floats have four bytes each");
  return new Float32Array(Uint8Array.from(bytes).buffer);
}
