import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createQuickLook } from "./quick-look.ts";
import { referenceVadd } from "./reference.ts";
import { checksumF64 } from "./verify.ts";

const { look, blockElements } = createQuickLook();

const anyWord = fc.integer({ min: 0, max: 2 ** 32 - 1 });

const floatsOf = (words: Uint32Array): Float32Array => new Float32Array(words.buffer);

test("property: the sum of what is right, and null for any one bit that is not", () => {
  const row = fc.tuple(anyWord, anyWord);
  const rows = fc.array(row, { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(rows, fc.nat(), fc.nat(31), (pairs, place, bit) => {
      const a = floatsOf(Uint32Array.from(pairs, ([left]) => left));
      const b = floatsOf(Uint32Array.from(pairs, ([, right]) => right));
      const output = referenceVadd(a, b);
      const hasNan = output.some(Number.isNaN);
      const sum = look("vadd", output, [a, b], 0.5);
      // Which NaN a sum is, hardware may choose.
      if (sum !== null) assert.equal(sum, 0.5 + checksumF64(output));
      else assert.ok(hasNan);
      const words = new Uint32Array(output.buffer);
      const index = place % words.length;
      words[index] = (words[index] ?? 0) ^ (1 << bit);
      if (!hasNan) assert.equal(look("vadd", output, [a, b], 0.5), null);
    }),
  );
});

test("property: words are summed as unsigned numbers", () => {
  const list = fc.array(anyWord, { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(list, fc.nat(), fc.nat(31), (values, place, bit) => {
      const input = Uint32Array.from(values);
      const expected = values.reduce((total, value) => total + value, 7);
      assert.equal(look("mail", input.slice(), [input], 7), expected);
      const index = place % input.length;
      const wrong = input.map((value, at) => (at === index ? value ^ (1 << bit) : value));
      assert.equal(look("mail", wrong, [input], 7), null);
    }),
  );
});

test("a whole block, an empty one, and what an earlier block left", () => {
  const ones = new Uint32Array(blockElements).fill(1);
  assert.equal(look("mail", ones, [ones], 0), blockElements);
  const wrong = ones.slice();
  wrong[blockElements - 1] = 2;
  assert.equal(look("mail", wrong, [ones], 0), null);
  assert.equal(look("mail", ones.subarray(0, 3), [ones.subarray(0, 3)], 0), 3);
  assert.equal(look("mail", ones.subarray(0, 0), [ones.subarray(0, 0)], 5), 5);
});

test("zeros of both signs differ", () => {
  const [plus, minus] = [Float32Array.of(0), Float32Array.of(-0)];
  assert.equal(look("vadd", plus, [plus, minus], 0), 0);
  assert.equal(look("vadd", minus, [plus, minus], 0), null);
  assert.equal(look("vadd", minus, [minus, minus], 0), 0);
});
