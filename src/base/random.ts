/** Random numbers that are the same for the same seed, on every machine. */

export type Random = {
  /** In 0..1, without 1. */
  readonly next: () => number;
  /** A whole number in 0..count-1; count is at least 1. */
  readonly below: (count: number) => number;
  /** In from..to. */
  readonly between: (from: number, to: number) => number;
  /**
   * Numbers of its own for one purpose, so that how many are drawn for it does not change what
   * others get.
   */
  readonly fork: (purpose: string) => Random;
};

/** The odd part of 2^32 divided by the golden ratio: the step of Weyl sequences. */
const GOLDEN = 0x9e3779b9;

/** Mixes a 32-bit number so that each bit of it changes half of the result's (splitmix32). */
function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The generator of a seed, a whole number below 2^53. */
export function createRandom(seed: number): Random {
  let state = mix(mix(seed % 2 ** 32) + Math.floor(seed / 2 ** 32));
  const first = state;
  const next = (): number => {
    state = (state + GOLDEN) >>> 0;
    return mix(state) / 2 ** 32;
  };
  return {
    next,
    below: (count) => Math.floor(next() * count),
    between: (from, to) => from + next() * (to - from),
    fork: (purpose) => {
      let hash = first;
      for (const character of purpose) hash = mix(hash ^ (character.codePointAt(0) ?? 0)) + GOLDEN;
      return createRandom(hash >>> 0);
    },
  };
}
