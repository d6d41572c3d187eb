import { ByteBuffer } from "./byte-buffer.ts";
import { section } from "./section.ts";

/** The type of each function that the module defines, in the order of the code section. */
export function functionSection(typeIndexes: readonly number[]): ByteBuffer {
  const entries = new ByteBuffer();
  for (const index of typeIndexes) entries.unsigned(index);
  return section("function", typeIndexes.length, entries);
}
