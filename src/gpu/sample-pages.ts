/** Which pages of an output a sample looks at: drawn anew for each seed, and the same for one. */
import { invariant } from "../base/mod.ts";

/** Elements of a page: what is compared is compared a page at a time. */
export const SAMPLE_PAGE_ELEMENTS = 1024;

/** A sample is one page in so many, */
const SAMPLE_SHARE = 16;

/** but at least so many pages, or all that there are. */
const SAMPLE_PAGES_MIN = 64;

/** Pages that a sample of `pages` pages looks at. One wrong element is found with count/pages. */
export const sampleCount = (pages: number): number =>
  Math.min(pages, Math.max(SAMPLE_PAGES_MIN, Math.ceil(pages / SAMPLE_SHARE)));

/**
 * The pages to look at, rising, of pages 0 to `pages` - 1; every page has the same chance. `seed`'s
 * low 64 bits count.
 */
export function samplePages(pages: number, seed: bigint): readonly number[] {
  invariant(Number.isSafeInteger(pages) && pages >= 0 && pages < 2 ** 32, `${pages} pages`);
  const count = sampleCount(pages);
  if (count === pages) return Array.from({ length: pages }, (_, page) => page);
  const below = uniform(seed);
  // The first steps of a shuffle (Fisher and Yates), over a row that is only noted where it was
  // changed: `moved` says which page lies at a place that is not its own.
  const moved = new Map<number, number>();
  const chosen: number[] = [];
  for (let place = 0; place < count; place++) {
    const other = place + below(pages - place);
    chosen.push(moved.get(other) ?? other);
    moved.set(other, moved.get(place) ?? place);
  }
  return chosen.sort((a, b) => a - b);
}

/** Whole numbers from 0 to `limit` - 1, all equally likely; a limit is at most 2^32. */
function uniform(seed: bigint): (limit: number) => number {
  const next = words(seed);
  return (limit) => {
    // What lies above the last whole multiple of the limit would favour small numbers.
    const end = 2 ** 32 - (2 ** 32 % limit);
    let word = next();
    while (word >= end) word = next();
    return word % limit;
  };
}

/** 32-bit words from a seed: sfc32 (Doty-Humphrey, public domain), begun as its author says. */
function words(seed: bigint): () => number {
  const bits = BigInt.asUintN(64, seed);
  let [a, b, c, counter] = [0, Number(bits & 0xffff_ffffn) | 0, Number(bits >> 32n) | 0, 1];
  const next = (): number => {
    const word = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + word) | 0;
    return word >>> 0;
  };
  for (let round = 0; round < WARM_UP_ROUNDS; round++) next();
  return next;
}

/** After so many words every bit of the seed has reached every bit of the state. */
const WARM_UP_ROUNDS = 15;
