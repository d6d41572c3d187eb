/**
 * Bytes to lines. Pure: the same bytes give the same lines however they were cut into chunks, and
 * no input makes it hold more than one line's limit.
 */

/** The longest command line, in bytes and without its end; the longest command needs 40. */
export const LINE_BYTES_MAX = 4096;

export type LineRefusalCode =
  /** Over LINE_BYTES_MAX; the rest of the line is discarded. */
  | "too_long"
  /** It holds a NUL byte: binary data, or a hole in a sparse file. */
  | "nul_byte"
  /** It is not UTF-8. */
  | "not_utf8";

/** One line of input without its end, or why it is none. */
export type InputLine =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refused"; readonly code: LineRefusalCode }
  /** The input cannot be read any further; the system's code, e.g. `EIO`. The last one. */
  | { readonly kind: "lost"; readonly code: string };

export type LineReader = {
  /** The lines that these bytes end, in order. */
  readonly push: (bytes: Uint8Array) => InputLine[];
  /** The last line, where the input ended without an end of line. */
  readonly end: () => InputLine[];
};

const LF = 0x0a;
const CR = 0x0d;

/** Lines end with LF or CRLF. */
export function createLineReader(): LineReader {
  // One more byte than a line may have, for the CR of a CRLF whose LF has not come yet.
  const held = new Uint8Array(LINE_BYTES_MAX + 1);
  let length = 0;
  let isDiscarding = false;

  const append = (piece: Uint8Array): InputLine[] => {
    if (isDiscarding) return [];
    const total = length + piece.length;
    const last = piece.at(-1) ?? held[length - 1];
    if (total > held.length || (total === held.length && last !== CR)) {
      isDiscarding = true;
      length = 0;
      return [{ kind: "refused", code: "too_long" }];
    }
    held.set(piece, length);
    length = total;
    return [];
  };

  const finish = (): InputLine[] => {
    const isWhole = !isDiscarding;
    const end = held[length - 1] === CR ? length - 1 : length;
    isDiscarding = false;
    length = 0;
    return isWhole ? [decode(held.subarray(0, end))] : [];
  };

  const push = (bytes: Uint8Array): InputLine[] => {
    const lines: InputLine[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      lines.push(...append(bytes.subarray(start, end)), ...finish());
      start = end + 1;
    }
    lines.push(...append(bytes.subarray(start)));
    return lines;
  };

  return { push, end: () => (length > 0 ? finish() : []) };
}

function decode(bytes: Uint8Array): InputLine {
  if (bytes.includes(0)) return { kind: "refused", code: "nul_byte" };
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { kind: "refused", code: "not_utf8" };
  }
}

/** The lines of a byte stream, one at a time: nothing is read ahead of what was asked for. */
export async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  const reader = createLineReader();
  try {
    for await (const bytes of source) yield* reader.push(bytes);
  } catch (error) {
    const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
    if (typeof code !== "string") throw error;
    yield { kind: "lost", code };
    return;
  }
  yield* reader.end();
}
