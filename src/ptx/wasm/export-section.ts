import { ByteBuffer } from "./byte-buffer.ts";
import { section } from "./section.ts";

const KIND_FUNCTION = 0;

/** The functions that whoever instantiates a module can call by name. */
export class ExportSection {
  #count = 0;
  readonly #entries = new ByteBuffer();

  function(name: string, functionIndex: number): void {
    this.#entries.name(name).byte(KIND_FUNCTION).unsigned(functionIndex);
    this.#count += 1;
  }

  encode(): ByteBuffer {
    return section("export", this.#count, this.#entries);
  }
}
