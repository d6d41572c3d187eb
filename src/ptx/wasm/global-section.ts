import { ByteBuffer } from "./byte-buffer.ts";
import { section } from "./section.ts";
import { VALUE_TYPE, type ValueType } from "./value-type.ts";

const MUTABLE = 1;
const CONSTANT = { i32: 0x41, i64: 0x42 } as const;
const END = 0x0b;

/** Variables of the instance; all are mutable integers that begin as 0. */
export class GlobalSection {
  #count = 0;
  readonly #entries = new ByteBuffer();

  /** Adds a global and returns its index. */
  add(type: ValueType & keyof typeof CONSTANT): number {
    this.#entries.byte(VALUE_TYPE[type]).byte(MUTABLE).byte(CONSTANT[type]).byte(0).byte(END);
    this.#count += 1;
    return this.#count - 1;
  }

  encode(): ByteBuffer {
    return section("global", this.#count, this.#entries);
  }
}
