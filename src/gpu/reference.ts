/**
 * What each kernel of the catalogue must give, computed on the CPU without looking at any PTX. All
 * are pure and exact to the bit: every f32 operation is rounded once, as IEEE 754 says.
 */

/** `mail`: the words, unchanged. */
export const referenceMail = (input: Uint32Array): Uint32Array => input.slice();

/** `vadd`: `a[i] + b[i]`, in f32. Both are of one length. */
export function referenceVadd(a: Float32Array, b: Float32Array): Float32Array {
  const sums = new Float32Array(a.length);
  // The sum of two floats, made in f64 and then rounded to f32 by the store, is the f32 sum: a
  // second rounding cannot change it, since f64 has more than twice the bits.
  for (let index = 0; index < a.length; index++) sums[index] = (a[index] ?? 0) + (b[index] ?? 0);
  return sums;
}

/** `vadd_mutated`: `(a[i] + b[i]) + 1`, each addition rounded to f32. */
export function referenceVaddMutated(a: Float32Array, b: Float32Array): Float32Array {
  const sums = referenceVadd(a, b);
  for (let index = 0; index < sums.length; index++) sums[index] = (sums[index] ?? 0) + 1;
  return sums;
}

/** `slow_add`: 1.0f added to each element `iterations` times, one rounding each time. */
export function referenceSlowAdd(input: Float32Array, iterations: number): Float32Array {
  return input.map((value) => addOnes(value, iterations));
}

/** From here on an f32 no longer counts by one: 2^24 + 1 rounds back to 2^24. */
const COUNTING_LIMIT = 2 ** 24;

/**
 * `value + 1 + 1 + ...` in f32, without doing every addition. An integer from 0 counts up exactly
 * to 2^24 and sticks there. In general, while neither the sum's binade nor its spacing changes
 * for the coarser, an addition of one is exact, so all of them up to the next power of two are
 * one exact addition; the addition that crosses it is made, and rounded, on its own. Below -1 the
 * magnitude shrinks, the spacing only gets finer, and all additions down to -1 are exact at once.
 * At most some fifty steps, whatever the count.
 */
export function addOnes(value: number, iterations: number): number {
  let sum = Math.fround(value);
  let left = iterations;
  while (left > 0) {
    const exact = Math.min(left, exactAdditions(sum));
    if (exact > 0) {
      sum += exact;
      left -= exact;
      continue;
    }
    const next = Math.fround(sum + 1);
    // Covers what sticks (a large magnitude, an infinity) and NaN.
    if (Object.is(next, sum)) return sum;
    sum = next;
    left -= 1;
  }
  return sum;
}

/** How many additions of one are exact from `sum` on, as far as that is cheap to say. */
function exactAdditions(sum: number): number {
  if (!(Math.abs(sum) <= COUNTING_LIMIT)) return 0;
  if (sum <= -1) return Math.floor(-sum);
  if (sum < 1) return 0;
  // The next power of two above the sum, which is at most 2^24, from its leading zeros.
  const nextPower = 1 << (32 - Math.clz32(sum));
  return nextPower > COUNTING_LIMIT ? 0 : Math.ceil(nextPower - sum) - 1;
}

/** Threads of the one block of `probe`. */
export const PROBE_THREADS = 32;

/** Knuth's multiplier: spreads the thread's number over all bits. */
const PROBE_MULTIPLIER = 2654435761;

/** `probe`: 32 words that only a kernel which saw `token` can give. */
export function referenceProbe(token: number): Uint32Array {
  return Uint32Array.from(
    { length: PROBE_THREADS },
    (_, thread) => (token ^ Math.imul(thread, PROBE_MULTIPLIER)) >>> 0,
  );
}

/**
 * `sum_f64`: one f64 partial sum a block. Thread t of block b adds the elements b*block + t,
 * then + grid*block, and so on, in that order, beginning from 0; then the block folds its threads'
 * sums in halves: sum[t] += sum[t + half], half = block/2, block/4, ... 1. A power of two a block.
 */
export function referenceSumF64(
  input: Float32Array,
  gridBlocks: number,
  blockThreads: number,
): Float64Array {
  const stride = gridBlocks * blockThreads;
  return Float64Array.from({ length: gridBlocks }, (_, block) => {
    const sums = new Float64Array(blockThreads);
    for (let thread = 0; thread < blockThreads; thread++) {
      let sum = 0;
      for (let at = block * blockThreads + thread; at < input.length; at += stride) {
        sum += input[at] ?? 0;
      }
      sums[thread] = sum;
    }
    for (let half = blockThreads / 2; half >= 1; half /= 2) {
      for (let thread = 0; thread < half; thread++) {
        sums[thread] = (sums[thread] ?? 0) + (sums[thread + half] ?? 0);
      }
    }
    return sums[0] ?? 0;
  });
}
