/**
 * Outputs against what their inputs must give, chunk by chunk, in one pass that computes the
 * reference, compares it bit for bit and sums the output up. No array of expected values is made.
 */
import { createQuickLook, type QuickLook } from "./quick-look.ts";
import { addOnes } from "./reference.ts";
import type { Mismatch } from "./verify.ts";

/** What was found so far. */
export type OutputTally = {
  /** f64 sum of all elements that were summed, in their order. */
  sum: number;
  checked: number;
  bad: number;
  firstBad: Mismatch | null;
};

/** Elements of an output and its inputs; `first` is the index of the first in the whole array. */
export type OutputChunk<T> = {
  readonly first: number;
  readonly actual: T;
  readonly inputs: readonly T[];
};

/** Compares a chunk, and sums its output up. */
export type ChunkComparer<T> = (tally: OutputTally, chunk: OutputChunk<T>) => void;

export const createTally = (): OutputTally => ({ sum: 0, checked: 0, bad: 0, firstBad: null });

/**
 * The same float, bit for bit but for NaN: +0 is not -0, and where a NaN is expected any NaN will
 * do. The first question answers nearly all, and much faster than the second.
 */
const isSameFloat = (expected: number, actual: number): boolean =>
  (expected === actual && expected !== 0) || Object.is(expected, actual);

/** A comparison that is done: `bad` elements are wrong, the first of them at `firstBad` or -1. */
function note<T extends Float32Array | Uint32Array>(
  tally: OutputTally,
  { first, actual }: OutputChunk<T>,
  found: { readonly bad: number; readonly firstBad: number; readonly sum: number },
  expectedOf: (index: number) => number,
): void {
  tally.sum = found.sum;
  tally.checked += actual.length;
  tally.bad += found.bad;
  if (found.firstBad < 0) return;
  tally.firstBad ??= {
    index: first + found.firstBad,
    expected: expectedOf(found.firstBad),
    actual: actual[found.firstBad] ?? 0,
  };
}

/** Made when it is first used, since it takes a module to be compiled. */
let quickLook: QuickLook | null = null;

/**
 * A comparer that looks quickly at block after block, and slowly at those that are not right: they
 * are few, unless the whole output is wrong.
 */
function lookQuickly<T extends Float32Array | Uint32Array>(
  kernel: Parameters<QuickLook["look"]>[0],
  compareSlowly: ChunkComparer<T>,
): ChunkComparer<T> {
  return (tally, { first, actual, inputs }) => {
    quickLook ??= createQuickLook();
    const { look, blockElements } = quickLook;
    for (let at = 0; at < actual.length; at += blockElements) {
      const blockOf = (values: T): T => values.subarray(at, at + blockElements) as T;
      const block = { first: first + at, actual: blockOf(actual), inputs: inputs.map(blockOf) };
      const sum = look(kernel, block.actual, block.inputs, tally.sum);
      if (sum === null) {
        compareSlowly(tally, block);
      } else {
        tally.sum = sum;
        tally.checked += block.actual.length;
      }
    }
  };
}

const compareMailSlowly: ChunkComparer<Uint32Array> = (tally, chunk) => {
  const { actual } = chunk;
  const [input = actual] = chunk.inputs;
  let { sum } = tally;
  let [bad, firstBad] = [0, -1];
  for (let index = 0; index < actual.length; index++) {
    const found = actual[index] ?? 0;
    sum += found;
    if (found === input[index]) continue;
    if (bad === 0) firstBad = index;
    bad += 1;
  }
  note(tally, chunk, { bad, firstBad, sum }, (index) => input[index] ?? 0);
};

const compareVaddSlowly: ChunkComparer<Float32Array> = (tally, chunk) => {
  const { actual } = chunk;
  const [a = actual, b = actual] = chunk.inputs;
  let { sum } = tally;
  let [bad, firstBad] = [0, -1];
  for (let index = 0; index < actual.length; index++) {
    const expected = Math.fround((a[index] ?? 0) + (b[index] ?? 0));
    const found = actual[index] ?? 0;
    sum += found;
    if (isSameFloat(expected, found)) continue;
    if (bad === 0) firstBad = index;
    bad += 1;
  }
  const expectedOf = (index: number): number => Math.fround((a[index] ?? 0) + (b[index] ?? 0));
  note(tally, chunk, { bad, firstBad, sum }, expectedOf);
};

/** `mail`: the words of the one input, unchanged. */
export const compareMail = lookQuickly("mail", compareMailSlowly);

/** `vadd`: the sum of the two inputs, rounded to f32. */
export const compareVadd = lookQuickly("vadd", compareVaddSlowly);

/** `vadd_mutated`: as `vadd`, and 1 added to that, rounded again. */
export const compareVaddMutated: ChunkComparer<Float32Array> = (tally, chunk) => {
  const [a = chunk.actual, b = chunk.actual] = chunk.inputs;
  compareFloats(tally, chunk, (index) =>
    Math.fround(Math.fround((a[index] ?? 0) + (b[index] ?? 0)) + 1),
  );
};

/** `slow_add`: 1.0f added to the input `iterations` times. */
export function slowAddComparer(iterations: number): ChunkComparer<Float32Array> {
  const sumOf = rememberSums(iterations);
  return (tally, chunk) => {
    const [input = chunk.actual] = chunk.inputs;
    compareFloats(tally, chunk, (index) => sumOf(input[index] ?? 0));
  };
}

function compareFloats(
  tally: OutputTally,
  chunk: OutputChunk<Float32Array>,
  expectedOf: (index: number) => number,
): void {
  const { actual } = chunk;
  let { sum } = tally;
  let [bad, firstBad] = [0, -1];
  for (let index = 0; index < actual.length; index++) {
    const found = actual[index] ?? 0;
    sum += found;
    if (isSameFloat(expectedOf(index), found)) continue;
    if (bad === 0) firstBad = index;
    bad += 1;
  }
  note(tally, chunk, { bad, firstBad, sum }, expectedOf);
}

/** Places for sums that were worked out: so many that a thousand values rarely clash. */
const REMEMBERED_SUMS = 2 ** 16;

/** `addOnes` that remembers its latest values: most inputs repeat themselves. */
function rememberSums(iterations: number): (value: number) => number {
  const values = new Float32Array(REMEMBERED_SUMS).fill(NaN);
  const sums = new Float32Array(REMEMBERED_SUMS);
  const bits = new Float32Array(1);
  const word = new Uint32Array(bits.buffer);
  return (value) => {
    bits[0] = value;
    // The high bits of a product with an odd number depend on all bits of the value.
    const place = Math.imul(word[0] ?? 0, 0x9e3779b1) >>> 16;
    // -0 and +0 have one sum unless nothing is added; NaN is never found, and soon worked out.
    if (values[place] === value && value !== 0) return sums[place] ?? 0;
    const sum = addOnes(value, iterations);
    values[place] = value;
    sums[place] = sum;
    return sum;
  };
}

/** Adds all values to the sum, in their order, each as the nearest f64. */
export function sumOn(
  sum: number,
  values:
    | Float32Array
    | Float64Array
    | Uint8Array
    | Int8Array
    | Uint16Array
    | Int16Array
    | Uint32Array
    | Int32Array,
): number {
  let total = sum;
  for (let index = 0; index < values.length; index++) total += values[index] ?? 0;
  return total;
}

/** As `sumOn`, for 64-bit integers as pairs of words, low first. */
export function sumWideOn(sum: number, lows: Uint32Array, highs: Uint32Array | Int32Array): number {
  let total = sum;
  for (let index = 0; index + 1 < lows.length; index += 2) {
    // The high part is exact in f64, so the sum of both is rounded once.
    total += (highs[index + 1] ?? 0) * 2 ** 32 + (lows[index] ?? 0);
  }
  return total;
}
