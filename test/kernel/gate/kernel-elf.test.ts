import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { extractElf } from "./kernel-elf.ts";

const ELF = Buffer.concat([Buffer.from("\u007fELF", "latin1"), Buffer.alloc(5000, 0x5a)]);

/** Bytes from the protected-mode part's start to the payload; real images have code there. */
const PAYLOAD_OFFSET = 0x2d0;

/** A bzImage as far as the reader looks: header, payload, and its size behind it. */
function imageOf(packed: Buffer, setupSectors: number): Buffer {
  const start = ((setupSectors === 0 ? 4 : setupSectors) + 1) * 512 + PAYLOAD_OFFSET;
  const image = Buffer.alloc(start + packed.length + 4);
  image[0x1f1] = setupSectors;
  image.write("HdrS", 0x202, "latin1");
  image.writeUInt32LE(PAYLOAD_OFFSET, 0x248);
  image.writeUInt32LE(packed.length + 4, 0x24c);
  packed.copy(image, start);
  image.writeUInt32LE(ELF.length, start + packed.length);
  return image;
}

for (const setupSectors of [27, 1, 0]) {
  test(`kernel-elf: a packed kernel behind ${setupSectors} setup sectors comes out`, () => {
    assert.deepEqual(extractElf(imageOf(gzipSync(ELF), setupSectors)), ELF);
  });
}

const BAD: readonly (readonly [string, Buffer, RegExp])[] = [
  ["no setup header", Buffer.alloc(8192), /no bzImage/],
  ["an unknown packing", imageOf(Buffer.from("abcdefgh"), 1), /unknown way: 6162/],
  ["no ELF image inside", imageOf(gzipSync(Buffer.alloc(100)), 1), /no ELF image/],
  ["a payload that was cut", imageOf(gzipSync(ELF).subarray(0, 20), 1), /gzip/],
];

for (const [what, image, message] of BAD) {
  test(`kernel-elf: an image with ${what} is refused`, () => {
    assert.throws(() => extractElf(image), message);
  });
}
