import { ByteBuffer } from "./byte-buffer.ts";
import type { Code } from "./code.ts";
import { section } from "./section.ts";

/** The bodies of a module's functions, each preceded by its size. */
export function codeSection(bodies: readonly Code[]): ByteBuffer {
  const entries = new ByteBuffer();
  for (const body of bodies) {
    const encoded = body.encode();
    entries.unsigned(encoded.length).appendBuffer(encoded);
  }
  return section("code", bodies.length, entries);
}
