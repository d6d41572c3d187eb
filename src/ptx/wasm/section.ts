/** A section: its id, its size in bytes, and how many entries follow. */
import { ByteBuffer } from "./byte-buffer.ts";

/** Ids, in the order in which sections must stand. */
export const SECTION = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10 } as const;

/** One section of a module, or nothing where it would have no entries. */
export function section(id: keyof typeof SECTION, count: number, entries: ByteBuffer): ByteBuffer {
  const whole = new ByteBuffer();
  if (count === 0) return whole;
  const content = new ByteBuffer().unsigned(count).appendBuffer(entries);
  return whole.byte(SECTION[id]).unsigned(content.length).appendBuffer(content);
}
