/** A growing run of bytes, with the number encodings of the WebAssembly binary format. */

const INITIAL_BYTES = 256;

const UTF8 = new TextEncoder();

export class ByteBuffer {
  #storage = new Uint8Array(INITIAL_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** A copy of what was written so far. */
  toBytes(): Uint8Array {
    return this.#storage.slice(0, this.#length);
  }

  /** Makes room for `count` more bytes, and returns where they begin; may replace the storage. */
  #reserve(count: number): number {
    const start = this.#length;
    this.#length = start + count;
    if (this.#length > this.#storage.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#storage.length * 2));
      larger.set(this.#storage);
      this.#storage = larger;
    }
    return start;
  }

  byte(value: number): this {
    const start = this.#reserve(1);
    this.#storage[start] = value;
    return this;
  }

  append(bytes: Uint8Array): this {
    const start = this.#reserve(bytes.length);
    this.#storage.set(bytes, start);
    return this;
  }

  appendBuffer(other: ByteBuffer): this {
    return this.append(other.#storage.subarray(0, other.#length));
  }

  /** LEB128, unsigned, of an integer from 0 to 2^32 - 1. */
  unsigned(value: number): this {
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    return this.byte(rest);
  }

  /** LEB128, signed, of the low 32 bits of `value`. */
  signed(value: number): this {
    let rest = value | 0;
    while (rest > 0x3f || rest < -0x40) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    return this.byte(rest & 0x7f);
  }

  /** LEB128, signed, of the low 64 bits of `value`. */
  signed64(value: bigint): this {
    let high = Number(BigInt.asIntN(32, value >> 32n));
    let low = Number(BigInt.asIntN(32, value));
    while (high !== low >> 31 || low > 0x3f || low < -0x40) {
      this.byte((low & 0x7f) | 0x80);
      low = (low >>> 7) | (high << 25);
      high >>= 7;
    }
    return this.byte(low & 0x7f);
  }

  /** Four bytes, little-endian. */
  fixed32(value: number): this {
    const start = this.#reserve(4);
    for (let at = 0; at < 4; at += 1) this.#storage[start + at] = value >>> (8 * at);
    return this;
  }

  /** Eight bytes, little-endian. */
  fixed64(value: bigint): this {
    return this.fixed32(Number(BigInt.asIntN(32, value))).fixed32(
      Number(BigInt.asIntN(32, value >> 32n)),
    );
  }

  /** A name: its UTF-8 bytes, preceded by how many they are. */
  name(text: string): this {
    const bytes = UTF8.encode(text);
    return this.unsigned(bytes.length).append(bytes);
  }
}
