import { ByteBuffer } from "./byte-buffer.ts";
import { section } from "./section.ts";
import { VALUE_TYPE, type FunctionType, type ValueType } from "./value-type.ts";

const FUNCTION_FORM = 0x60;

/** The function types of a module, each once. */
export class TypeSection {
  readonly #indexes = new Map<string, number>();
  readonly #entries = new ByteBuffer();

  /** The index of a type, which is added when it is new. */
  index(type: FunctionType): number {
    const key = `${type.parameters.join()}:${type.results.join()}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    this.#indexes.set(key, index);
    this.#entries.byte(FUNCTION_FORM);
    this.#list(type.parameters);
    this.#list(type.results);
    return index;
  }

  #list(types: readonly ValueType[]): void {
    this.#entries.unsigned(types.length);
    for (const type of types) this.#entries.byte(VALUE_TYPE[type]);
  }

  encode(): ByteBuffer {
    return section("type", this.#indexes.size, this.#entries);
  }
}
