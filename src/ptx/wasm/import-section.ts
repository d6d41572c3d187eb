import { ByteBuffer } from "./byte-buffer.ts";
import { section } from "./section.ts";

const KIND = { function: 0, memory: 2 } as const;

/** Limits of a shared memory: it must have a maximum. */
const SHARED_WITH_MAXIMUM = 3;

/** What a module takes from whoever instantiates it. */
export class ImportSection {
  #count = 0;
  readonly #entries = new ByteBuffer();

  #entry(module: string, name: string): ByteBuffer {
    this.#count += 1;
    return this.#entries.name(module).name(name);
  }

  function(module: string, name: string, typeIndex: number): void {
    this.#entry(module, name).byte(KIND.function).unsigned(typeIndex);
  }

  /** A shared memory of at least and at most so many pages of 64 KiB. */
  sharedMemory(
    module: string,
    name: string,
    pages: { readonly minimum: number; readonly maximum: number },
  ): void {
    this.#entry(module, name).byte(KIND.memory).byte(SHARED_WITH_MAXIMUM);
    this.#entries.unsigned(pages.minimum).unsigned(pages.maximum);
  }

  encode(): ByteBuffer {
    return section("import", this.#count, this.#entries);
  }
}
