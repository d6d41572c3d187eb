/**
 * Divides a range of addresses: two-level segregated fit. Free blocks hang in lists by size class
 * (a power of two, cut in sixteen), bitmaps say which lists hold any, and neighbours that are free
 * are joined at once. Taking and giving back cost the same however many blocks there are; a list is
 * walked only when nothing larger is left.
 *
 * It keeps its books outside the memory that it divides, so no kernel can spoil them.
 */
import { invariant } from "../base/mod.ts";

/** Every block starts at, and is as long as, a multiple of this: CUDA's own alignment. */
export const BLOCK_BYTES = 256;

const CLASS_BITS = 4;
const CLASSES_PER_POWER = 1 << CLASS_BITS;
/** 2^24 units of 256 bytes are the 4 GiB that a 32-bit memory has at most. */
const POWERS = 25;

type Block = {
  start: number;
  units: number;
  isFree: boolean;
  /** The neighbours in address order. */
  below: Block | null;
  above: Block | null;
  /** The neighbours in the list of the size class, while the block is free. */
  previous: Block | null;
  next: Block | null;
};

/** A live block, as `at` and `nearestBelow` tell of it. */
export type Region = { readonly address: number; readonly bytes: number };

export class RegionAllocator {
  readonly #lists: (Block | null)[] = new Array<Block | null>(POWERS * CLASSES_PER_POWER).fill(
    null,
  );
  /** One word a power of two: bit i is set while the i-th list of that power holds a block. */
  readonly #classMaps = new Uint32Array(POWERS);
  /** Bit i is set while `#classMaps[i]` is not zero. */
  #powerMap = 0;
  readonly #live = new Map<number, Block>();
  #freeUnits: number;

  /** Divides [start, end), both multiples of BLOCK_BYTES, below 2^32. */
  constructor(start: number, end: number) {
    invariant(start % BLOCK_BYTES === 0 && end % BLOCK_BYTES === 0, "region is not aligned");
    invariant(start < end && end <= 2 ** 32, "region is empty or too large");
    const units = (end - start) / BLOCK_BYTES;
    this.#freeUnits = units;
    const links = { below: null, above: null, previous: null, next: null };
    this.#insert({ start, units, isFree: true, ...links });
  }

  get freeBytes(): number {
    return this.#freeUnits * BLOCK_BYTES;
  }

  get liveCount(): number {
    return this.#live.size;
  }

  /** Takes a block of at least `bytes` (more than zero), or null when no free block is as large. */
  take(bytes: number): Region | null {
    const units = Math.ceil(bytes / BLOCK_BYTES);
    invariant(units > 0, "a region has at least one byte");
    const block = this.#find(units);
    if (block === null) return null;
    this.#remove(block);
    this.#split(block, units);
    block.isFree = false;
    this.#freeUnits -= units;
    this.#live.set(block.start, block);
    return { address: block.start, bytes: units * BLOCK_BYTES };
  }

  /** Gives back the block that starts at `address`. */
  give(address: number): void {
    const block = this.#live.get(address);
    invariant(block !== undefined, `no live region starts at ${address}`);
    this.#live.delete(address);
    this.#freeUnits += block.units;
    block.isFree = true;
    const { below, above } = block;
    if (above?.isFree === true) {
      this.#remove(above);
      join(block, above);
    }
    if (below?.isFree === true) {
      this.#remove(below);
      join(below, block);
      this.#insert(below);
    } else {
      this.#insert(block);
    }
  }

  /** The largest block that could be taken now. Walks one list. */
  largestFreeBytes(): number {
    if (this.#powerMap === 0) return 0;
    const power = highestBit(this.#powerMap);
    const list = power * CLASSES_PER_POWER + highestBit(this.#classMaps[power] ?? 0);
    let units = 0;
    for (let block = this.#lists[list] ?? null; block !== null; block = block.next) {
      units = Math.max(units, block.units);
    }
    return units * BLOCK_BYTES;
  }

  /** The live blocks, in no order: for messages about a bad address, and for tests. */
  *live(): Generator<Region> {
    for (const block of this.#live.values()) {
      yield { address: block.start, bytes: block.units * BLOCK_BYTES };
    }
  }

  /** The first block of a list whose every block is large enough; else walks the list below it. */
  #find(units: number): Block | null {
    const own = listOf(units);
    const isExact = smallestOf(own) === units;
    const found = this.#firstFrom(isExact ? own : own + 1);
    if (found !== null || isExact) return found;
    for (let block = this.#lists[own] ?? null; block !== null; block = block.next) {
      if (block.units >= units) return block;
    }
    return null;
  }

  #firstFrom(list: number): Block | null {
    const power = Math.floor(list / CLASSES_PER_POWER);
    if (power >= POWERS) return null;
    const inPower = (this.#classMaps[power] ?? 0) & (~0 << (list % CLASSES_PER_POWER));
    if (inPower !== 0) return this.#lists[power * CLASSES_PER_POWER + lowestBit(inPower)] ?? null;
    const above = this.#powerMap & (~0 << (power + 1));
    if (power + 1 >= POWERS || above === 0) return null;
    const next = lowestBit(above);
    const inNext = this.#classMaps[next] ?? 0;
    return this.#lists[next * CLASSES_PER_POWER + lowestBit(inNext)] ?? null;
  }

  #split(block: Block, units: number): void {
    if (block.units === units) return;
    const rest: Block = {
      start: block.start + units * BLOCK_BYTES,
      units: block.units - units,
      isFree: true,
      below: block,
      above: block.above,
      previous: null,
      next: null,
    };
    if (block.above !== null) block.above.below = rest;
    block.above = rest;
    block.units = units;
    this.#insert(rest);
  }

  #insert(block: Block): void {
    const list = listOf(block.units);
    const power = Math.floor(list / CLASSES_PER_POWER);
    const head = this.#lists[list] ?? null;
    block.previous = null;
    block.next = head;
    if (head !== null) head.previous = block;
    this.#lists[list] = block;
    this.#classMaps[power] = (this.#classMaps[power] ?? 0) | (1 << (list % CLASSES_PER_POWER));
    this.#powerMap |= 1 << power;
  }

  #remove(block: Block): void {
    const { previous, next } = block;
    if (next !== null) next.previous = previous;
    if (previous !== null) previous.next = next;
    else {
      const list = listOf(block.units);
      this.#lists[list] = next;
      if (next === null) this.#markEmpty(list);
    }
    block.previous = null;
    block.next = null;
  }

  #markEmpty(list: number): void {
    const power = Math.floor(list / CLASSES_PER_POWER);
    const map = (this.#classMaps[power] ?? 0) & ~(1 << (list % CLASSES_PER_POWER));
    this.#classMaps[power] = map;
    if (map === 0) this.#powerMap &= ~(1 << power);
  }
}

/** Joins `above`, which is free and in no list, to the block below it. */
function join(block: Block, above: Block): void {
  block.units += above.units;
  block.above = above.above;
  if (above.above !== null) above.above.below = block;
}

/** The list that holds free blocks of this size: its power of two, then sixteenths of that. */
function listOf(units: number): number {
  if (units < CLASSES_PER_POWER) return units;
  const power = highestBit(units);
  const sixteenth = (units >> (power - CLASS_BITS)) - CLASSES_PER_POWER;
  return (power - CLASS_BITS + 1) * CLASSES_PER_POWER + sixteenth;
}

/** The smallest size that `listOf` puts into the list. */
function smallestOf(list: number): number {
  if (list < CLASSES_PER_POWER) return list;
  const power = Math.floor(list / CLASSES_PER_POWER) + CLASS_BITS - 1;
  return (CLASSES_PER_POWER + (list % CLASSES_PER_POWER)) << (power - CLASS_BITS);
}

const highestBit = (word: number): number => 31 - Math.clz32(word);
const lowestBit = (word: number): number => highestBit(word & -word);
