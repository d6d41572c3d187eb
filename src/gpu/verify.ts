/** Results against references, bit for bit. */
import { invariant } from "../base/mod.ts";

/** The first element that is wrong. */
export type Mismatch = {
  readonly index: number;
  readonly expected: number;
  readonly actual: number;
};

export type Comparison = {
  /** How many elements are wrong. */
  readonly bad: number;
  readonly firstBad: Mismatch | null;
  /** How many elements were looked at. */
  readonly checked: number;
};

const wordsOf = (values: Float32Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, values.length);

/**
 * Compares two arrays of one length, bit for bit, so that -0 is not +0. Where a NaN is expected any
 * NaN will do, since hardware is free in the payload.
 */
export function compareF32(expected: Float32Array, actual: Float32Array): Comparison {
  const length = checkedLength(expected, actual);
  const [expectedWords, actualWords] = [wordsOf(expected), wordsOf(actual)];
  let bad = 0;
  let firstBad: Mismatch | null = null;
  for (let index = 0; index < length; index++) {
    if (expectedWords[index] === actualWords[index]) continue;
    const pair = { index, expected: expected[index] ?? 0, actual: actual[index] ?? 0 };
    if (Number.isNaN(pair.expected) && Number.isNaN(pair.actual)) continue;
    bad += 1;
    firstBad ??= pair;
  }
  return { bad, firstBad, checked: length };
}

/** Compares words of one length. */
export function compareU32(expected: Uint32Array, actual: Uint32Array): Comparison {
  const length = checkedLength(expected, actual);
  let bad = 0;
  let firstBad: Mismatch | null = null;
  for (let index = 0; index < length; index++) {
    if (expected[index] === actual[index]) continue;
    bad += 1;
    firstBad ??= { index, expected: expected[index] ?? 0, actual: actual[index] ?? 0 };
  }
  return { bad, firstBad, checked: length };
}

function checkedLength(
  expected: { readonly length: number },
  actual: { readonly length: number },
): number {
  invariant(
    expected.length === actual.length,
    `compared arrays are of one length, not ${expected.length} and ${actual.length}`,
  );
  return expected.length;
}

/**
 * The sum of all values in f64, first to last. It is exact, so independent of the order, for values
 * that are multiples of one power of two and whose sums stay below 2^53 of it; all our patterns
 * are.
 */
export function checksumF64(values: Float32Array | Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
