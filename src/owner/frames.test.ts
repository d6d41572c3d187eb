import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { createFrameReader, encodeFrame, FRAME_BYTES_MAX, type HostMessage } from "./frames.ts";

const message = fc.record({
  id: fc.nat(),
  kind: fc.constant("reply" as const),
  body: fc.jsonValue(),
});

test("createFrameReader() gives the same frames however the stream is cut", () => {
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 97 })), (sent, cuts) => {
      const stream = Buffer.concat(sent.map((value) => encodeFrame(value as HostMessage)));
      const read = createFrameReader();
      const received: unknown[] = [];
      let at = 0;
      for (let k = 0; at < stream.length; k++) {
        const end = at + (cuts.length === 0 ? stream.length : (cuts[k % cuts.length] ?? 1));
        received.push(...read(stream.subarray(at, end)));
        at = end;
      }
      // JSON has no -0, so what was sent is compared as JSON gives it back.
      assert.deepEqual(received, JSON.parse(JSON.stringify(sent)));
    }),
  );
});

test("createFrameReader() refuses a length beyond the limit, and takes one at it", () => {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(FRAME_BYTES_MAX, 0);
  assert.deepEqual(createFrameReader()(header), []);
  header.writeUInt32LE(FRAME_BYTES_MAX + 1, 0);
  assert.throws(() => createFrameReader()(header), RangeError);
});
