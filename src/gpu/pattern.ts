/** The input patterns whose results are known beforehand. */

/** Elements of the owner's standing work: 4 MiB a buffer. */
export const WORK_ELEMENTS = 1024 * 1024;

/** Threads of a block, for every kernel of the catalogue but `probe`. */
export const WORK_BLOCK_THREADS = 256;

/** Seed pattern values lie in 0..1023. */
export const SEED_PATTERN_VALUE_MAX = 1023;

/** The self-test's first operand: `a[i] = 0.5 * (i mod 1000)`. */
export function selfTestA(elements: number): Float32Array {
  return ramp(elements, 0.5, 1000);
}

/** The self-test's second operand: `b[i] = 0.25 * (i mod 997)`. */
export function selfTestB(elements: number): Float32Array {
  return ramp(elements, 0.25, 997);
}

/** A plain loop, since 2^24 elements through `Float32Array.from` take most of a second. */
function ramp(elements: number, scale: number, modulus: number): Float32Array {
  const values = new Float32Array(elements);
  for (let index = 0; index < elements; index++) values[index] = scale * (index % modulus);
  return values;
}

/**
 * One value of the seed pattern, an integer in 0..1023. It is the top ten bits of a 32-bit mix:
 * `h = i * 0x9e3779b1 + seed * 0x85ebca6b; h ^= h >> 15; h *= 0x2c1b3c6d; value = h >> 22`.
 */
export function seedValue(seed: number, index: number): number {
  let hash = (Math.imul(index, 0x9e3779b1) + Math.imul(seed, 0x85ebca6b)) >>> 0;
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 22;
}

/** The owner's input for `seed` (its low 32 bits count). */
export function seedPattern(seed: number, elements: number): Float32Array {
  const values = new Float32Array(elements);
  for (let index = 0; index < elements; index++) values[index] = seedValue(seed, index);
  return values;
}
