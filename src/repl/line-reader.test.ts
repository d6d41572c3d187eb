import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createLineReader, LINE_BYTES_MAX, linesOf, type InputLine } from "./line-reader.ts";

const text = (line: string): InputLine => ({ kind: "text", text: line });
const refused = (code: "too_long" | "nul_byte" | "not_utf8"): InputLine => ({
  kind: "refused",
  code,
});
const bytesOf = (input: string): Uint8Array => new TextEncoder().encode(input);

function readChunks(chunks: readonly Uint8Array[]): InputLine[] {
  const reader = createLineReader();
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
}

const longest = "a".repeat(LINE_BYTES_MAX);

const TABLE: readonly { name: string; input: Uint8Array; lines: readonly InputLine[] }[] = [
  { name: "nothing", input: bytesOf(""), lines: [] },
  { name: "one line", input: bytesOf("status\n"), lines: [text("status")] },
  { name: "two lines", input: bytesOf("a\nb\n"), lines: [text("a"), text("b")] },
  { name: "an empty line", input: bytesOf("\n"), lines: [text("")] },
  { name: "no end at the end", input: bytesOf("a\nb"), lines: [text("a"), text("b")] },
  { name: "CRLF", input: bytesOf("a\r\nb\r\n"), lines: [text("a"), text("b")] },
  { name: "a CR within", input: bytesOf("a\rb\n"), lines: [text("a\rb")] },
  { name: "a CR at the very end", input: bytesOf("a\r"), lines: [text("a")] },
  { name: "UTF-8", input: bytesOf("grüße 你\n"), lines: [text("grüße 你")] },
  { name: "a byte order mark", input: bytesOf("\ufeffstatus\n"), lines: [text("status")] },
  { name: "the longest line", input: bytesOf(`${longest}\n`), lines: [text(longest)] },
  { name: "the longest, CRLF", input: bytesOf(`${longest}\r\n`), lines: [text(longest)] },
  { name: "the longest, no end", input: bytesOf(longest), lines: [text(longest)] },
  {
    name: "one byte more",
    input: bytesOf(`${longest}b\nc\n`),
    lines: [refused("too_long"), text("c")],
  },
  { name: "one byte more, no end", input: bytesOf(`${longest}b`), lines: [refused("too_long")] },
  {
    name: "two CR over",
    input: bytesOf(`${longest}\r\r\nc`),
    lines: [refused("too_long"), text("c")],
  },
  {
    name: "far too long",
    input: bytesOf(`${longest.repeat(3)}\nc`),
    lines: [refused("too_long"), text("c")],
  },
  { name: "a NUL byte", input: bytesOf("sta\0tus\nc\n"), lines: [refused("nul_byte"), text("c")] },
  {
    name: "broken UTF-8",
    input: Uint8Array.of(0x61, 0xff, 0x0a, 0x62, 0x0a),
    lines: [refused("not_utf8"), text("b")],
  },
];

for (const { name, input, lines } of TABLE) {
  test(`lines: ${name}`, () => {
    assert.deepEqual(readChunks([input]), lines);
  });
}

/** Cuts bytes at the given places. */
function cut(input: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set([0, ...places, input.length])].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => input.subarray(sorted[index], end));
}

// Bytes that matter to the reader come up often, and lines come close to the limit.
const anyInput = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\r", "\r\n", "\0", "status", "ü", "\ufeff").map(bytesOf),
      fc
        .integer({ min: LINE_BYTES_MAX - 3, max: LINE_BYTES_MAX + 3 })
        .map((n) => bytesOf("a".repeat(n))),
      fc.uint8Array({ maxLength: 8 }),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => new Uint8Array(Buffer.concat(pieces)));

test("lines: any cutting into chunks gives the same lines", () => {
  fc.assert(
    fc.property(
      anyInput.chain((input) =>
        fc.tuple(fc.constant(input), fc.array(fc.nat({ max: input.length }), { maxLength: 20 })),
      ),
      ([input, places]) => {
        assert.deepEqual(readChunks(cut(input, places)), readChunks([input]));
      },
    ),
  );
});

test("lines: byte by byte gives the same lines", () => {
  fc.assert(
    fc.property(anyInput, (input) => {
      assert.deepEqual(
        readChunks([...input].map((byte) => Uint8Array.of(byte))),
        readChunks([input]),
      );
    }),
    { numRuns: 20 },
  );
});

test("lines: text lines come back as they went in", () => {
  const line = fc
    .string({ unit: "grapheme", maxLength: 50 })
    .filter((each) => !/[\n\r\0\ufeff]/.test(each));
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom("\n", "\r\n"), (lines, end) => {
      const input = bytesOf(lines.map((each) => each + end).join(""));
      assert.deepEqual(readChunks([input]), lines.map(text));
    }),
  );
});

test("linesOf reads no further than it is asked to", async () => {
  let reads = 0;
  // eslint-disable-next-line @typescript-eslint/require-await
  async function* source(): AsyncGenerator<Uint8Array> {
    for (const chunk of ["a\nb\n", "c\n", "d"]) {
      reads += 1;
      yield bytesOf(chunk);
    }
  }
  const lines = linesOf(source());
  assert.deepEqual((await lines.next()).value, text("a"));
  assert.deepEqual((await lines.next()).value, text("b"));
  assert.equal(reads, 1);
  assert.deepEqual((await lines.next()).value, text("c"));
  assert.deepEqual((await lines.next()).value, text("d"));
  assert.equal((await lines.next()).done, true);
});

test("linesOf tells of an input that is lost, and drops the line that it broke off", async () => {
  // eslint-disable-next-line @typescript-eslint/require-await
  async function* source(): AsyncGenerator<Uint8Array> {
    yield bytesOf("a\nquit");
    throw Object.assign(new Error("gone"), { code: "EIO" });
  }
  const lines: InputLine[] = [];
  for await (const line of linesOf(source())) lines.push(line);
  assert.deepEqual(lines, [text("a"), { kind: "lost", code: "EIO" }]);
});

test("linesOf passes a bug on", async () => {
  // eslint-disable-next-line @typescript-eslint/require-await
  async function* source(): AsyncGenerator<Uint8Array> {
    throw new TypeError("bug");
  }
  await assert.rejects(linesOf(source()).next(), TypeError);
});
