/** A set of small integers of a known range, as bits. */
export class BitSet {
  readonly #words: Uint32Array;

  /** An empty set that can hold 0 to `size` - 1. */
  constructor(size: number) {
    this.#words = new Uint32Array((size + 31) >>> 5);
  }

  has(member: number): boolean {
    return (((this.#words[member >>> 5] ?? 0) >>> (member & 31)) & 1) === 1;
  }

  add(member: number): void {
    this.#words[member >>> 5] = (this.#words[member >>> 5] ?? 0) | (1 << (member & 31));
  }

  /** Adds every member of `other` that is not in `except`; true when this set grew. */
  addAll(other: BitSet, except?: BitSet): boolean {
    let grew = 0;
    for (let index = 0; index < this.#words.length; index += 1) {
      const before = this.#words[index] ?? 0;
      const excluded = except === undefined ? 0 : (except.#words[index] ?? 0);
      const added = (other.#words[index] ?? 0) & ~excluded;
      this.#words[index] = before | added;
      grew |= added & ~before;
    }
    return grew !== 0;
  }

  /** The members, from the smallest up. */
  members(): number[] {
    const members: number[] = [];
    this.#words.forEach((word, index) => {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        members.push(index * 32 + 31 - Math.clz32(rest & -rest));
      }
    });
    return members;
  }
}
